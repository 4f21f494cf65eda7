package extension

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// clusterExtension takes the fields of a ClusterExtension (operator-controller,
// api/v1). config and progressDeadlineMinutes are part of the API only where
// OpenShift previews technology; they do not bear on what is chosen, but for the
// namespace that is watched.
func (r *reader) clusterExtension(n *yaml.Node, e *Extension) {
	var ignored, sourceType, policy, bundle, version, release string
	installed := false
	catalog := func(n *yaml.Node, path string) {
		r.fields(n, path,
			member{"packageName", r.text(&e.Package, subdomain("package")), true},
			member{"version", r.text(&e.Version, nil), false}, // Resolve checks it
			member{"channels", r.list(func(n *yaml.Node, path string) {
				var channel string
				r.text(&channel, subdomain("channel"))(n, path)
				if e.Channels = append(e.Channels, channel); len(e.Channels) == maxChannels+1 {
					r.fault(n, "%s: the API takes at most %d channels", path, maxChannels)
				}
			}), false},
			member{"selector", func(n *yaml.Node, path string) { r.selector(n, path, &e.Selector) }, false},
			member{"upgradeConstraintPolicy", r.text(&policy, oneOf("CatalogProvided", "SelfCertified")), false},
		)
	}
	r.fields(n, "",
		member{"apiVersion", nil, true},
		member{"kind", nil, true},
		member{"metadata", r.metadata(&e.Name, nil), true},
		member{"spec", func(n *yaml.Node, path string) {
			r.fields(n, path,
				member{"namespace", r.text(&ignored, namespace), true},
				member{"serviceAccount", func(n *yaml.Node, path string) {
					r.fields(n, path, member{"name", r.text(&ignored, subdomain("service account")), false})
				}, false},
				member{"source", func(n *yaml.Node, path string) {
					r.fields(n, path,
						member{"sourceType", r.text(&sourceType, oneOf("Catalog")), true},
						member{"catalog", catalog, true},
					)
				}, true},
				member{"install", func(n *yaml.Node, path string) {
					r.fields(n, path, member{"preflight", func(n *yaml.Node, path string) {
						r.fields(n, path, member{"crdUpgradeSafety", func(n *yaml.Node, path string) {
							r.fields(n, path, member{"enforcement", r.text(&ignored, oneOf("None", "Strict")), true})
						}, true})
					}, true})
				}, false},
				member{"config", func(n *yaml.Node, path string) {
					r.fields(n, path,
						member{"configType", r.text(&ignored, oneOf("Inline")), true},
						member{"inline", func(n *yaml.Node, path string) { e.WatchNamespace = r.watched(n) }, false},
					)
				}, false},
				member{"progressDeadlineMinutes", nil, false},
			)
		}, true},
		member{"status", func(n *yaml.Node, path string) {
			r.fields(n, path,
				member{"conditions", nil, false},
				member{"activeRevisions", nil, false},
				member{"install", func(n *yaml.Node, path string) {
					r.fields(n, path, member{"bundle", func(n *yaml.Node, path string) {
						installed = true
						r.fields(n, path,
							member{"name", r.text(&bundle, nil), true},
							member{"version", r.text(&version, nil), true},
							member{"release", r.text(&release, nil), false},
						)
					}, true})
				}, false},
			)
		}, false},
	)
	e.SelfCertified = policy == "SelfCertified"
	if installed {
		e.Installed = &Installed{Name: bundle, Version: version, Release: release}
	}
}

// maxChannels is how many channels the API takes.
const maxChannels = 256

// watched is the watchNamespace of a configuration, whose other fields are the
// bundle's own.
func (r *reader) watched(n *yaml.Node) string {
	if n = r.resolve(n); n == nil || n.Kind != yaml.MappingNode {
		return ""
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == "watchNamespace" {
			if value := r.resolve(n.Content[i+1]); value != nil && value.Kind == yaml.ScalarNode && !isNull(value) {
				return value.Value
			}
		}
	}
	return ""
}

// selector takes a label selector.
func (r *reader) selector(n *yaml.Node, path string, s *Selector) {
	r.fields(n, path,
		member{"matchLabels", r.pairs(&s.MatchLabels, func(key, value string) string {
			if reason := checkLabelKey(key); reason != "" {
				return reason
			}
			return checkLabelValue(value)
		}), false},
		member{"matchExpressions", r.list(func(n *yaml.Node, path string) {
			var q Requirement
			problems := len(r.problems)
			r.fields(n, path,
				member{"key", r.text(&q.Key, nil), true},
				member{"operator", r.text(&q.Operator, nil), true},
				member{"values", r.list(func(n *yaml.Node, path string) {
					var value string
					r.text(&value, nil)(n, path)
					q.Values = append(q.Values, value)
				}), false},
			)
			if reason := q.check(); reason != "" && len(r.problems) == problems {
				r.fault(n, "%s: %s", path, reason)
			}
			s.MatchExpressions = append(s.MatchExpressions, q)
		}), false},
	)
}

// clusterCatalog takes the fields of a ClusterCatalog (catalogd, api/v1).
func (r *reader) clusterCatalog(n *yaml.Node, c *Catalog) {
	var ignored, mode string
	var minutes int32
	r.fields(n, "",
		member{"apiVersion", nil, true},
		member{"kind", nil, true},
		member{"metadata", r.metadata(&c.Name, &c.Labels), true},
		member{"spec", func(n *yaml.Node, path string) {
			r.fields(n, path,
				member{"priority", r.integer(&c.Priority), false},
				member{"availabilityMode", r.text(&mode, oneOf("Available", "Unavailable")), false},
				member{"source", func(n *yaml.Node, path string) {
					r.fields(n, path,
						member{"type", r.text(&ignored, oneOf("Image")), true},
						member{"image", func(n *yaml.Node, path string) {
							r.fields(n, path,
								member{"ref", r.text(&c.Ref, nil), true},
								member{"pollIntervalMinutes", r.integer(&minutes), false},
							)
						}, true},
					)
				}, true},
			)
		}, true},
		member{"status", nil, false},
	)
	c.Unavailable = mode == "Unavailable"
}

// metadata takes the name and, where they are asked for, the labels. Everything
// else of an object's metadata may be there and means nothing here.
func (r *reader) metadata(name *string, labels *map[string]string) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		if n = r.resolve(n); n == nil {
			return
		}
		if n.Kind != yaml.MappingNode {
			r.fault(n, "%s: found %s where a mapping is wanted", path, describe(n))
			return
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			switch key := n.Content[i].Value; {
			case key == "name":
				r.text(name, subdomain("object"))(n.Content[i+1], join(path, key))
			case key == "labels" && labels != nil:
				r.pairs(labels, func(key, value string) string {
					if reason := checkLabelKey(key); reason != "" {
						return reason
					}
					return checkLabelValue(value)
				})(n.Content[i+1], join(path, key))
			}
		}
		if *name == "" {
			r.fault(n, "%s.name is missing", path)
		}
	}
}

// subdomain checks the name of something that is a DNS-1123 subdomain.
func subdomain(what string) func(string) string {
	return func(name string) string {
		if isSubdomain(name) {
			return ""
		}
		return fmt.Sprintf("%q is not a name that a %s can have: lower-case letters, digits, - and ., letters or digits at both ends, at most 253", name, what)
	}
}

func namespace(name string) string {
	if isLabel(name) {
		return ""
	}
	return fmt.Sprintf("%q is not a name that a namespace can have: lower-case letters, digits and -, letters or digits at both ends, at most 63", name)
}

// oneOf checks for one of the values that the API takes.
func oneOf(values ...string) func(string) string {
	return func(value string) string {
		for _, v := range values {
			if value == v {
				return ""
			}
		}
		return fmt.Sprintf("%q is none of the values that the API takes: %q", value, values)
	}
}
