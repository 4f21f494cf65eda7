package env

import "cmp"

// HomeDir returns the user's home folder: a given one, or the one of the environment, or "".
func HomeDir(given string, getenv func(string) string) string { return cmp.Or(given, getenv("HOME")) }
