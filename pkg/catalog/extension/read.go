package extension

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// apiGroup is that of both kinds; v1 is the version that is served since
// OpenShift 4.18.
const (
	apiGroup   = "olm.operatorframework.io"
	apiVersion = apiGroup + "/v1"
)

// Limits on what is read: a cluster has tens of extensions, not thousands.
const (
	maxText   = 16 << 20
	maxValues = 1_000_000
	maxDepth  = 100
)

// Read reads the ClusterExtensions and ClusterCatalogs of a YAML or JSON input of
// at most 16 MiB, in its order: manifests as they are applied, or what `oc get -o
// yaml` and -o json print of them. Other kinds are passed over. The name of the
// file is for messages and positions.
//
// Reading is strict: what the API would refuse or drop without a word (an unknown
// field, a wrong type) is an error, joined from one line for each, "FILE:LINE: what
// is wrong". So is an input with nothing of the two kinds. A range of versions that
// is none is an error of [Resolve], so that it is one extension's alone.
func Read(name string, in io.Reader) ([]Extension, []Catalog, error) {
	text, err := io.ReadAll(io.LimitReader(in, maxText+1))
	if err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", name, err)
	}
	if len(text) > maxText {
		return nil, nil, fmt.Errorf("reading %s: it has more than %d MiB; give only the ClusterExtensions and ClusterCatalogs", name, maxText>>20)
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
		return nil, nil, fmt.Errorf("reading %s: there is no ClusterExtension or ClusterCatalog (%s) in it; print them with `oc get clusterextension,clustercatalog -o yaml`", name, apiVersion)
	}
	return r.extensions, r.catalogs, nil
}

// object takes one object, or each of a list.
func (r *reader) object(n *yaml.Node, depth int) {
	if n = r.resolve(n); n == nil || isNull(n) {
		return
	}
	if n.Kind != yaml.MappingNode {
		r.fault(n, "found %s where a Kubernetes object is wanted", describe(n))
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
		r.fault(n, "the %s is of %s; clusters serve %s", head.kind, head.apiVersion, apiVersion)
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
