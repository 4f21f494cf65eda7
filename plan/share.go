package plan

// share puts the copy of a text that all have in common in its place. same holds
// the copies.
func share[S ~string](same map[string]string, s *S) {
	have, ok := same[string(*s)]
	if !ok {
		have = string(*s)
		same[have] = have
	}
	*s = S(have)
}
