package install

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/resources"
)

// A writer collects the files and the first error.
type writer struct {
	in       Input
	releases []Release // the newest first
	files    []resources.File
	notes    []string
	err      error
}

func (w *writer) text(name, text string) {
	w.files = append(w.files, resources.File{Name: name, Text: []byte(text)})
}

// yaml writes v below a comment.
func (w *writer) yaml(name string, comment []string, v any) {
	text, err := resources.EncodeYAML(v)
	if err != nil && w.err == nil {
		w.err = fmt.Errorf("writing %s: %w", name, err)
	}
	w.text(name, comments(comment)+string(text))
}

func comments(lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		b.WriteString("# " + line + "\n")
	}
	return b.String()
}

// A digestSource is a source with its mirrors, as all consumers write it. They differ in the name of the
// policy.
type digestSource struct {
	Source  string   `yaml:"source"`
	Mirrors []string `yaml:"mirrors"`
	// Policy is for installers, MirrorPolicy for objects with the type of an ImageDigestMirrorSet.
	Policy       string `yaml:"sourcePolicy,omitempty"`
	MirrorPolicy string `yaml:"mirrorSourcePolicy,omitempty"`
}

// digestSources returns the sources with mirrors for pulls by digest, without policies.
func (w *writer) digestSources() (list []digestSource) {
	for _, m := range w.in.Mirrors {
		if len(m.ByDigest) > 0 {
			list = append(list, digestSource{Source: m.Source, Mirrors: m.ByDigest})
		}
	}
	return list
}

// withPolicies sets the policies of sources that may not be contacted.
func (w *writer) withPolicies(list []digestSource, set func(d *digestSource, policy string)) []digestSource {
	for _, m := range w.in.Mirrors {
		if i := slices.IndexFunc(list, func(d digestSource) bool { return d.Source == m.Source }); i >= 0 {
			set(&list[i], m.Policy)
		}
	}
	return list
}

// ca returns the certificates, or the placeholder.
func (w *writer) ca() string {
	if len(w.in.CA) > 0 {
		return string(w.in.CA)
	}
	return caPlaceholder
}
