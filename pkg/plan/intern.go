package plan

// share replaces a text by the equal text in same, or adds it there.
func share[S ~string](same map[string]string, s *S) {
	have, ok := same[string(*s)]
	if !ok {
		have = string(*s)
		same[have] = have
	}
	*s = S(have)
}
