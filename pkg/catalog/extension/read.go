package extension

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// apiGroup is the group of both kinds. The version v1 is served since OpenShift 4.18.
const (
	apiGroup   = "olm.operatorframework.io"
	apiVersion = apiGroup + "/v1"
)

// Limits of the input: a cluster has tens of extensions, not thousands.
const (
	maxText   = 16 << 20
	maxValues = 1_000_000
	maxDepth  = 100
)

// Read reads the ClusterExtensions and ClusterCatalogs of a YAML or JSON input of at most 16 MiB,
// in its order: manifests as they are applied, or the output of `oc get -o yaml` and `-o json`. It
// ignores other kinds. The name of the file is for messages and positions.
//
// Reading is strict: what the API would refuse or silently drop (an unknown field, a wrong type) is
// an error. Errors are joined, one line "FILE:LINE: MESSAGE" for each. An input without either kind
// is an error, too. An invalid version range is an error of [Resolve], so that it only affects one
// extension.
func Read(name string, in io.Reader) ([]Extension, []Catalog, error) {
	text, err := io.ReadAll(io.LimitReader(in, maxText+1))
	if err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", name, err)
	}
	if len(text) > maxText {
		return nil, nil, fmt.Errorf("reading %s: it has more than %d MiB; pass only the ClusterExtensions and ClusterCatalogs", name, maxText>>20)
	}
	r := &reader{file: name}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var document yaml.Node
		if err := decoder.Decode(&document); err == io.EOF {
			break
		} else if err != nil {
			return nil, nil, fmt.Errorf("reading %s: %s; is it YAML or JSON?", name, strings.TrimPrefix(err.Error(), "yaml: "))
		}
		if len(document.Content) == 1 {
			r.object(document.Content[0], 0)
		}
	}
	if len(r.problems) > 0 {
		return nil, nil, errors.Join(r.problems...)
	}
	if len(r.extensions)+len(r.catalogs) == 0 {
		return nil, nil, fmt.Errorf("reading %s: it has no ClusterExtension or ClusterCatalog (%s); print them with `oc get clusterextension,clustercatalog -o yaml`", name, apiVersion)
	}
	return r.extensions, r.catalogs, nil
}

// object reads one object, or each object of a list.
func (r *reader) object(n *yaml.Node, depth int) {
	if n = r.resolve(n); n == nil || isNull(n) {
		return
	}
	if n.Kind != yaml.MappingNode {
		r.addProblem(n, "found %s, expected a Kubernetes object", describe(n))
		return
	}
	var head struct{ apiVersion, kind string }
	for i := 0; i+1 < len(n.Content); i += 2 {
		switch value := r.resolve(n.Content[i+1]); {
		case value == nil:
			return
		case n.Content[i].Value == "apiVersion":
			head.apiVersion = value.Value
		case n.Content[i].Value == "kind":
			head.kind = value.Value
		}
	}
	if strings.HasSuffix(head.kind, "List") && depth == 0 {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if items := r.resolve(n.Content[i+1]); items != nil && n.Content[i].Value == "items" && items.Kind == yaml.SequenceNode {
				for _, item := range items.Content {
					r.object(item, depth+1)
				}
			}
		}
		return
	}
	group, _, _ := strings.Cut(head.apiVersion, "/")
	if group != apiGroup || head.kind != "ClusterExtension" && head.kind != "ClusterCatalog" {
		return
	}
	if head.apiVersion != apiVersion {
		r.addProblem(n, "the %s has apiVersion %s; clusters serve %s", head.kind, head.apiVersion, apiVersion)
		return
	}
	problems := len(r.problems)
	if head.kind == "ClusterCatalog" {
		c := Catalog{File: r.file, Line: n.Line}
		r.clusterCatalog(n, &c)
		if len(r.problems) == problems {
			r.catalogs = append(r.catalogs, c)
		}
		return
	}
	e := Extension{File: r.file, Line: n.Line}
	r.clusterExtension(n, &e)
	if len(r.problems) == problems {
		r.extensions = append(r.extensions, e)
	}
}
