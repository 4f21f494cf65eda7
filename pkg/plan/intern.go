package plan

// Share replaces a text by the equal text in same, or adds it there.
func Share[S ~string](same map[string]string, s *S) {
	have, ok := same[string(*s)]
	if !ok {
		have = string(*s)
		same[have] = have
	}
	*s = S(have)
}
