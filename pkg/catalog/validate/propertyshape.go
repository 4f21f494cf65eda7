package validate

// propertyShapes returns the shapes of the property types that opm 1.73 decodes (operator-registry,
// alpha/property, and the types of operator-framework/api that it uses). All other types may have
// any value.
func propertyShapes() map[string]*shape {
	text := &shape{kind: '"'}
	texts := &shape{kind: '[', each: text}
	names := &shape{kind: '{', each: text}
	object := func(fields map[string]*shape) *shape { return &shape{kind: '{', fields: fields} }
	list := func(each *shape) *shape { return &shape{kind: '[', each: each} }

	gvk := object(map[string]*shape{"group": text, "kind": text, "version": text})
	link := object(map[string]*shape{"name": text, "url": text})
	descriptors := list(object(map[string]*shape{
		"path": text, "displayname": text, "description": text, "x-descriptors": texts,
	}))
	described := func(fields map[string]*shape) *shape {
		for _, name := range []string{"name", "version", "kind", "displayname", "description"} {
			fields[name] = text
		}
		fields["resources"] = list(object(map[string]*shape{"name": text, "kind": text, "version": text}))
		for _, name := range []string{"statusdescriptors", "specdescriptors", "actiondescriptors"} {
			fields[name] = descriptors
		}
		definitions := list(object(fields))
		return object(map[string]*shape{"owned": definitions, "required": definitions})
	}

	return map[string]*shape{
		propertyPackage:        object(map[string]*shape{"packagename": text, "version": text, "release": text}),
		"olm.package.required": object(map[string]*shape{"packagename": text, "versionrange": text}),
		"olm.gvk":              gvk,
		"olm.gvk.required":     gvk,
		// Decoded although it is internal to opm.
		"olm.channel":       object(map[string]*shape{"channelname": text, "priority": {kind: '0', bits: 64}}),
		"olm.bundle.object": object(map[string]*shape{"data": {kind: '"', base64: true}}),
		"olm.csv.metadata": object(map[string]*shape{
			"annotations": names, "labels": names, "keywords": texts,
			"description": text, "displayname": text, "maturity": text, "minkubeversion": text,
			"crddescriptions":       described(map[string]*shape{}),
			"apiservicedefinitions": described(map[string]*shape{"group": text, "deploymentname": text, "containerport": {kind: '0', bits: 32}}),
			"installmodes":          list(object(map[string]*shape{"type": text, "supported": {kind: 't'}})),
			"maintainers":           list(object(map[string]*shape{"name": text, "email": text})),
			"nativeapis":            list(gvk),
			"links":                 list(link),
			"provider":              link,
		}),
	}
}
