"""A git repository, read by git itself: its default branch, changes in order of arrival, files at a time."""
