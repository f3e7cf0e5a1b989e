"""What is compiled of the algorithm on the paths of trees."""
