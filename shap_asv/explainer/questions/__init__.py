"""What an explainer can be asked beside explanations; ``asking`` is the list, the others answer."""
