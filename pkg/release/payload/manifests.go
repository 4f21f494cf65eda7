package payload

import (
	"bytes"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

const (
	policyKind = "ClusterImagePolicy"
	// signatureAnnotation marks the ConfigMap with keys and stores; what it says
	// does not matter (library-go, pkg/verify).
	signatureAnnotation = "release.openshift.io/verification-config-map"
)

// wanted are the words without which a manifest is none that is looked for; all
// others need not be parsed.
var wanted = []string{policyKind, signatureAnnotation}

// An object is what is read of a manifest.
type object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name        string            `json:"name"`
		Namespace   string            `json:"namespace"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
}

// A configMap is a ConfigMap's data.
type configMap struct {
	Data map[string]string `json:"data"`
}

// isConfigMap says whether an object is a ConfigMap of that name.
func (o object) isConfigMap(namespace, name string) bool {
	return o.APIVersion == "v1" && o.Kind == "ConfigMap" && o.Metadata.Namespace == namespace && o.Metadata.Name == name
}

// addManifests takes policies and the signature ConfigMap out of files. Of
// several ConfigMaps the first counts, as for the operator.
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

// eachObject gives the objects of a manifest with their text to each.
func eachObject(text []byte, each func(object, []byte) error) error {
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

// documents are the documents of a YAML stream, as Kubernetes takes it apart: at
// lines that begin with "---". Those that hold nothing are left out; so is the
// line.
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
