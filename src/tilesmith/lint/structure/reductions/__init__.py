"""Where values are added up, multiplied, reduced and scaled."""
