"""Which background fits a table: scores on held-out rows, a choice by them, mixtures of several."""
