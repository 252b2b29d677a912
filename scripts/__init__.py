"""What is done around the code; `site_pages` makes the documentation's site."""
