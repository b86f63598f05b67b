// The script of the page starts here.
