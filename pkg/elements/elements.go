// Package elements makes lists from the elements of other lists, and sorts them.
package elements

// Map returns what a function makes of each element, such as its name. It returns nil for an empty list.
func Map[T, U any](list []T, of func(T) U) (all []U) {
	for _, x := range list {
		all = append(all, of(x))
	}
	return all
}

// Filter returns the elements for which keep returns true, in a list of its own. It returns nil if no element stays.
func Filter[T any](list []T, keep func(T) bool) (kept []T) {
	for _, x := range list {
		if keep(x) {
			kept = append(kept, x)
		}
	}
	return kept
}
