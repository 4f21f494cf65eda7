package resources

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A RequestedTemplate is an annotation with which OLM chooses the image of a CatalogSource by the version
// of Kubernetes.
type RequestedTemplate struct {
	File     string
	Object   ObjectName
	Template ImageTemplate
}

// A RequestedPolicy says for which repositories nodes require signatures.
type RequestedPolicy struct {
	File   string
	Object ObjectName
	// Scopes are repositories, namespaces or hosts by their original names, or "*.example.com".
	Scopes []string
}

// Covers reports whether nodes require signatures of the images of a repository.
func (p *RequestedPolicy) Covers(repository string) bool {
	host, _, _ := strings.Cut(repository, "/")
	return slices.ContainsFunc(p.Scopes, func(scope string) bool {
		domain, ok := strings.CutPrefix(scope, "*.")
		return ok && strings.HasSuffix(host, "."+domain) || strings.HasPrefix(repository+"/", scope+"/")
	})
}

// addTemplate adds the annotation of a CatalogSource, if it has one.
func (r *Requested) addTemplate(file string, o object) {
	var m struct {
		Metadata struct{ Annotations map[string]string }
	}
	if json.Unmarshal(o.text, &m) == nil && m.Metadata.Annotations[imageTemplateKey] != "" {
		r.Templates = append(r.Templates, RequestedTemplate{File: file, Object: o.name, Template: ImageTemplate(m.Metadata.Annotations[imageTemplateKey])})
	}
}

// addPolicy adds an image policy. Without scopes, or with keys that cannot be read, it is an error.
func (r *Requested) addPolicy(file string, o object) error {
	var m struct {
		Spec struct {
			Scopes []string
			Policy struct{ RootOfTrust map[string]json.RawMessage }
		}
	}
	err := json.Unmarshal(o.text, &m)
	if err == nil && len(m.Spec.Scopes) == 0 {
		err = errors.New("it has no scopes")
	}
	if err == nil {
		err = checkTrust(m.Spec.Policy.RootOfTrust)
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", o.name, err)
	}
	r.Policies = append(r.Policies, RequestedPolicy{File: file, Object: o.name, Scopes: m.Spec.Scopes})
	return nil
}

// checkTrust returns an error unless a root of trust has keys or certificates in PEM.
func checkTrust(root map[string]json.RawMessage) error {
	found := false
	for _, kind := range sortedKeys(root) {
		var fields map[string]any
		if kind == "policyType" || json.Unmarshal(root[kind], &fields) != nil {
			continue
		}
		for _, name := range sortedKeys(fields) {
			text, isText := fields[name].(string)
			if !isText || !strings.HasSuffix(name, "Data") {
				continue
			}
			data, err := base64.StdEncoding.DecodeString(text)
			if err != nil {
				return fmt.Errorf("%s.%s is not base64: %w", kind, name, err)
			}
			if block, _ := pem.Decode(data); block == nil {
				return fmt.Errorf("%s.%s is not a key or certificate in PEM", kind, name)
			}
			found = true
		}
	}
	if !found {
		return errors.New("it has no key and no certificate")
	}
	return nil
}

// Matches reports whether a template resolves to a reference for some version of Kubernetes.
func (t ImageTemplate) Matches(ref string) bool {
	repository, tag := t.splitTag()
	return (ImageTemplate(repository + tag)).pattern().MatchString(ref)
}

// Repository returns the repository of the images that a template resolves to; "" if it differs from version to
// version.
func (t ImageTemplate) Repository() string {
	repository, _ := t.splitTag()
	if strings.Contains(repository, "{") {
		return ""
	}
	return repository
}
