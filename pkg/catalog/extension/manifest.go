package extension

import (
	"cmp"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

// clusterExtension reads the fields of a ClusterExtension (operator-controller, api/v1). config and
// progressDeadlineMinutes are part of the API only with OpenShift's technology preview features.
// They do not influence the choice of the bundle, except for the watched namespace.
func (r *reader) clusterExtension(n *yaml.Node, e *Extension) {
	var ignored, sourceType, policy, bundle, version, release string
	installed := false
	catalog := func(n *yaml.Node, path string) {
		r.fields(n, path,
			field{"packageName", r.text(&e.Package, subdomain("package")), true},
			field{"version", r.text(&e.Version, nil), false}, // Resolve checks it
			field{"channels", r.list(func(n *yaml.Node, path string) {
				var channel string
				r.text(&channel, subdomain("channel"))(n, path)
				if e.Channels = append(e.Channels, channel); len(e.Channels) == maxChannels+1 {
					r.addProblem(n, "%s: the API allows at most %d channels", path, maxChannels)
				}
			}), false},
			field{"selector", func(n *yaml.Node, path string) { r.selector(n, path, &e.Selector) }, false},
			field{"upgradeConstraintPolicy", r.text(&policy, oneOf("CatalogProvided", "SelfCertified")), false},
		)
	}
	r.fields(n, "",
		field{"apiVersion", nil, true},
		field{"kind", nil, true},
		field{"metadata", r.metadata(&e.Name, nil), true},
		field{"spec", func(n *yaml.Node, path string) {
			r.fields(n, path,
				field{"namespace", r.text(&ignored, namespace), true},
				field{"serviceAccount", func(n *yaml.Node, path string) {
					r.fields(n, path, field{"name", r.text(&ignored, subdomain("service account")), false})
				}, false},
				field{"source", func(n *yaml.Node, path string) {
					r.fields(n, path,
						field{"sourceType", r.text(&sourceType, oneOf("Catalog")), true},
						field{"catalog", catalog, true},
					)
				}, true},
				field{"install", func(n *yaml.Node, path string) {
					r.fields(n, path, field{"preflight", func(n *yaml.Node, path string) {
						r.fields(n, path, field{"crdUpgradeSafety", func(n *yaml.Node, path string) {
							r.fields(n, path, field{"enforcement", r.text(&ignored, oneOf("None", "Strict")), true})
						}, true})
					}, true})
				}, false},
				field{"config", func(n *yaml.Node, path string) {
					r.fields(n, path,
						field{"configType", r.text(&ignored, oneOf("Inline")), true},
						field{"inline", func(n *yaml.Node, path string) { e.WatchNamespace = r.watchNamespace(n) }, false},
					)
				}, false},
				field{"progressDeadlineMinutes", nil, false},
			)
		}, true},
		field{"status", func(n *yaml.Node, path string) {
			r.fields(n, path,
				field{"conditions", nil, false},
				field{"activeRevisions", nil, false},
				field{"install", func(n *yaml.Node, path string) {
					r.fields(n, path, field{"bundle", func(n *yaml.Node, path string) {
						installed = true
						r.fields(n, path,
							field{"name", r.text(&bundle, nil), true},
							field{"version", r.text(&version, nil), true},
							field{"release", r.text(&release, nil), false},
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

// maxChannels is the maximum number of channels in the API.
const maxChannels = 256

// watchNamespace returns the watchNamespace of a configuration. Its other fields are specific to
// the bundle.
func (r *reader) watchNamespace(n *yaml.Node) string {
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

// selector reads a label selector.
func (r *reader) selector(n *yaml.Node, path string, s *Selector) {
	r.fields(n, path,
		field{"matchLabels", r.pairs(&s.MatchLabels, func(key, value string) string {
			return cmp.Or(checkLabelKey(key), checkLabelValue(value))
		}), false},
		field{"matchExpressions", r.list(func(n *yaml.Node, path string) {
			var q Requirement
			problems := len(r.problems)
			r.fields(n, path,
				field{"key", r.text(&q.Key, nil), true},
				field{"operator", r.text(&q.Operator, nil), true},
				field{"values", r.list(func(n *yaml.Node, path string) {
					var value string
					r.text(&value, nil)(n, path)
					q.Values = append(q.Values, value)
				}), false},
			)
			if reason := q.check(); reason != "" && len(r.problems) == problems {
				r.addProblem(n, "%s: %s", path, reason)
			}
			s.MatchExpressions = append(s.MatchExpressions, q)
		}), false},
	)
}

// clusterCatalog reads the fields of a ClusterCatalog (catalogd, api/v1).
func (r *reader) clusterCatalog(n *yaml.Node, c *Catalog) {
	var ignored, mode string
	var minutes int32
	r.fields(n, "",
		field{"apiVersion", nil, true},
		field{"kind", nil, true},
		field{"metadata", r.metadata(&c.Name, &c.Labels), true},
		field{"spec", func(n *yaml.Node, path string) {
			r.fields(n, path,
				field{"priority", r.integer(&c.Priority), false},
				field{"availabilityMode", r.text(&mode, oneOf("Available", "Unavailable")), false},
				field{"source", func(n *yaml.Node, path string) {
					r.fields(n, path,
						field{"type", r.text(&ignored, oneOf("Image")), true},
						field{"image", func(n *yaml.Node, path string) {
							r.fields(n, path,
								field{"ref", r.text(&c.Ref, nil), true},
								field{"pollIntervalMinutes", r.integer(&minutes), false},
							)
						}, true},
					)
				}, true},
			)
		}, true},
		field{"status", nil, false},
	)
	c.Unavailable = mode == "Unavailable"
}

// metadata reads the name and, unless labels is nil, the labels. It ignores all other metadata.
func (r *reader) metadata(name *string, labels *map[string]string) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		if n = r.resolve(n); n == nil {
			return
		}
		if n.Kind != yaml.MappingNode {
			r.addProblem(n, "%s: found %s, expected a mapping", path, describe(n))
			return
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			switch key := n.Content[i].Value; {
			case key == "name":
				r.text(name, subdomain("object"))(n.Content[i+1], join(path, key))
			case key == "labels" && labels != nil:
				r.pairs(labels, func(key, value string) string {
					return cmp.Or(checkLabelKey(key), checkLabelValue(value))
				})(n.Content[i+1], join(path, key))
			}
		}
		if *name == "" {
			r.addProblem(n, "%s.name is missing", path)
		}
	}
}

// subdomain checks a name that must be a DNS-1123 subdomain.
func subdomain(what string) func(string) string {
	return func(name string) string {
		if isSubdomain(name) {
			return ""
		}
		return fmt.Sprintf("%q is not a valid %s name: use at most 253 lower-case letters, digits, - and ., with a letter or digit at both ends", name, what)
	}
}

func namespace(name string) string {
	if isLabel(name) {
		return ""
	}
	return fmt.Sprintf("%q is not a valid namespace name: use at most 63 lower-case letters, digits and -, with a letter or digit at both ends", name)
}

// oneOf checks for one of the values of the API.
func oneOf(values ...string) func(string) string {
	return func(value string) string {
		if slices.Contains(values, value) {
			return ""
		}
		return fmt.Sprintf("%q is not one of the values of the API: %q", value, values)
	}
}
