package install

import (
	"bytes"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/gantry-mirror/gantry/pkg/catalog/rbac"
)

// An Object is a manifest. Its members are written in the order of their names.
type Object map[string]any

// Name returns the kind and the name: "Role ns/installer".
func (o Object) Name() string {
	metadata, _ := o["metadata"].(Object)
	name := fmt.Sprint(metadata["name"])
	if namespace, ok := metadata["namespace"]; ok {
		name = fmt.Sprint(namespace) + "/" + name
	}
	return fmt.Sprint(o["kind"]) + " " + name
}

// Result is what installs an operator.
type Result struct {
	// Objects are in the order in which they are to be applied.
	Objects []Object
	// Notes are sentences about what the objects do not say.
	Notes []string
	// Namespace is where the operator is installed. Watched are the namespaces that it watches, none for
	// all.
	Namespace string
	Watched   []string
	// Account is the ServiceAccount of OLM v1, and Needs its permissions. They are empty for classic.
	Account rbac.Account
	Needs   *rbac.Set

	own    *rbac.Set // Needs without what the roles of the bundle grant
	grants []grant
}

func (r *Result) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// kindNotes notes the objects of a bundle that older versions of OLM refuse.
func (r *Result) kindNotes(b *Bundle) {
	for _, o := range b.others {
		switch o.Kind {
		case consolePlugin:
			r.note("bundle %s has a %s (%s): OLM from before April 2025 does not install it", b.Name, o.Kind, o.Metadata.Name)
		case podMonitor:
			r.note("bundle %s has a %s (%s): OLM from before September 2025 does not install it", b.Name, o.Kind, o.Metadata.Name)
		}
	}
}

// YAML returns the objects as YAML documents.
func YAML(objects []Object) ([]byte, error) {
	var b bytes.Buffer
	for i, o := range objects {
		if i > 0 {
			b.WriteString("---\n")
		}
		text, err := o.yaml()
		if err != nil {
			return nil, err
		}
		b.Write(text)
	}
	return b.Bytes(), nil
}

func (o Object) yaml() ([]byte, error) {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	enc.CompactSeqIndent()
	if err := enc.Encode(o); err != nil {
		return nil, fmt.Errorf("writing %s: %w", o.Name(), err)
	}
	return b.Bytes(), enc.Close()
}

// A File is an object in a file of its own.
type File struct {
	Name string
	Text []byte
}

// Files returns the objects as files. In the order of their names, they can be applied.
func Files(objects []Object) ([]File, error) {
	var files []File
	for i, o := range objects {
		text, err := o.yaml()
		if err != nil {
			return nil, err
		}
		name := strings.Map(func(r rune) rune {
			if r == ' ' || r == '/' || r == ':' {
				return '-'
			}
			return r
		}, strings.ToLower(o.Name()))
		files = append(files, File{fmt.Sprintf("%02d-%s.yaml", i, name), text})
	}
	return files, nil
}

// metadata returns the metadata of an object; the namespace may be "".
func metadata(namespace, name string) Object {
	m := Object{"name": name}
	if namespace != "" {
		m["namespace"] = namespace
	}
	return m
}

// Role returns a Role, or a ClusterRole if there is no namespace.
func Role(namespace, name string, rules []rbac.Rule) Object {
	kind := "Role"
	if namespace == rbac.Cluster {
		kind = "ClusterRole"
	}
	return Object{"apiVersion": rbac.APIGroup + "/v1", "kind": kind, "metadata": metadata(namespace, name), "rules": rules}
}

// roleBinding binds the role of the same name to an account.
func roleBinding(namespace, name string, to rbac.Account) Object {
	kind := "Role"
	if namespace == rbac.Cluster {
		kind = "ClusterRole"
	}
	return Object{
		"apiVersion": rbac.APIGroup + "/v1", "kind": kind + "Binding", "metadata": metadata(namespace, name),
		"roleRef":  Object{"apiGroup": rbac.APIGroup, "kind": kind, "name": name},
		"subjects": []Object{{"kind": "ServiceAccount", "name": to.Name, "namespace": to.Namespace}},
	}
}
