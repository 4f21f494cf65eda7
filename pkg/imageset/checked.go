package imageset

// Checked returns a configuration that a program made as Parse returns it: with its defaults, and without
// repeated entries. The positions in it, and those of problems, are name and the path of an entry, such as
// "edge: mirror.operators[0]". An invalid or unusable configuration is an *Error.
func (c Config) Checked(name string) (*Config, error) {
	r := newReader(name)
	r.value = true
	root, err := r.parse(configObject().encode(&c))
	if err != nil {
		return nil, err
	}
	out, err := r.config(root)
	if err != nil {
		return nil, err
	}
	return out, out.Usable()
}
