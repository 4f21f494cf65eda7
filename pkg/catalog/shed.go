package catalog

// shed decodes the object that m names and holds on to nothing of its text; see
// [Options.Shed].
func (o *outliner) shed(m *Meta, text []byte, see func(*Bundle)) (decoded, error) {
	m.Schema, m.Package, m.Name = o.shared(m.Schema), o.shared(m.Package), o.shared(m.Name)
	whole := *m
	whole.Raw = text
	content, err := o.decode(&whole)
	if err != nil {
		return decoded{}, err
	}
	content.meta = m
	switch {
	case content.channel != nil:
		content.channel.Meta = m
	case content.deprecations != nil:
		content.deprecations.Meta = m
	case content.bundle != nil:
		b := content.bundle
		see(b)
		b.Meta = m
		for i, p := range b.Properties {
			b.Properties[i].Value = nil
			if needed(p.Type) {
				b.Properties[i].Value = o.value(p.Value)
			}
		}
	}
	return content, nil
}
