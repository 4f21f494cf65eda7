package ocmirror

// verification translates the flags for the signatures of images.
func (l *line) verification() {
	flag := "secure-policy"
	if !truth(l.value(flag)) {
		flag = "enable-operator-secure-policy"
	}
	switch {
	case !truth(l.value(flag)):
		return
	case l.value("from") != "":
		l.noEffect(flag, "oc mirror verifies signatures where images are read from registries, not with --from; gantry mirror --from --policy FILE does")
		return
	case l.value("policy") != "":
		l.add("policy", l.value("policy"))
	default:
		l.addBool("secure-policy", true)
	}
	if folder := l.value("registries.d"); folder != "" {
		l.add("registries.d", folder)
	}
}
