package payload

import (
	"bytes"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/gantry-mirror/gantry/pkg/file/density"
)

const (
	policyKind = "ClusterImagePolicy"
	// signatureAnnotation marks the ConfigMap with keys and stores; its value is ignored
	// (library-go, pkg/verify).
	signatureAnnotation = "release.openshift.io/verification-config-map"
)

// wanted are words; every needed manifest contains one of them. Other manifests are not parsed.
var wanted = []string{policyKind, signatureAnnotation}

// An object is the part of a manifest that is read.
type object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name        string            `json:"name"`
		Namespace   string            `json:"namespace"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
}

// A configMap is the data of a ConfigMap.
type configMap struct {
	Data map[string]string `json:"data"`
}

// isConfigMap reports whether an object is the ConfigMap with that name.
func (o object) isConfigMap(namespace, name string) bool {
	return o.APIVersion == "v1" && o.Kind == "ConfigMap" && o.Metadata.Namespace == namespace && o.Metadata.Name == name
}

// addManifests extracts the policies and the signature ConfigMap from files. The first ConfigMap
// counts, as for the operator.
func (p *Payload) addManifests(files []file) error {
	for _, f := range files {
		err := eachObject(f.text, func(o object, text []byte) error {
			_, signs := o.Metadata.Annotations[signatureAnnotation]
			switch {
			case o.Kind == policyKind && strings.HasPrefix(o.APIVersion, "config.openshift.io/"):
				p.Policies = append(p.Policies, text)
			case o.Kind == "ConfigMap" && o.APIVersion == "v1" && signs && p.SignatureConfig == nil:
				p.SignatureConfig = text
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("reading /%s: %w", f.name, err)
		}
	}
	return nil
}

// eachObject calls each for every object of a manifest, with its text.
func eachObject(text []byte, each func(object, []byte) error) error {
	if err := density.Check(text); err != nil {
		return err
	}
	for n, doc := range documents(text) {
		var o object
		if err := yaml.Unmarshal(doc, &o); err != nil {
			return fmt.Errorf("object %d: %w", n+1, err)
		}
		if err := each(o, doc); err != nil {
			return err
		}
	}
	return nil
}

// documents splits a YAML stream as Kubernetes does, at lines that begin with "---". Empty
// documents and the separators are left out.
func documents(text []byte) [][]byte {
	var docs [][]byte
	start := 0
	add := func(doc []byte) {
		if len(bytes.TrimSpace(doc)) > 0 {
			docs = append(docs, doc)
		}
	}
	for at := 0; at < len(text); {
		next := len(text)
		if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
			next = at + i + 1
		}
		if bytes.HasPrefix(text[at:], []byte("---")) {
			add(text[start:at])
			start = next
		}
		at = next
	}
	add(text[start:])
	return docs
}
