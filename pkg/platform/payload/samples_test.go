package payload

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// streamText returns an ImageStream whose tags import images.
func streamText(name string, images ...string) string {
	tags := `{"name":"latest","from":{"kind":"ImageStreamTag","name":"1"}},{"name":"empty"}`
	for i, image := range images {
		tags += fmt.Sprintf(`,{"name":"%d","from":{"kind":"DockerImage","name":%q}}`, i+1, image)
	}
	return `{"kind":"ImageStream","apiVersion":"image.openshift.io/v1","metadata":{"name":"` + name + `"},"spec":{"tags":[` + tags + `]}}`
}

func TestSamples(t *testing.T) {
	t.Parallel()
	const x86, arm = "opt/openshift/operator/x86_64/", "opt/openshift/operator/aarch64/"
	for _, tc := range []struct {
		name   string
		layers [][]entry
		want   []Sample
		err    string
	}{
		{"architectures and streams of several files", [][]entry{{{"usr/bin/operator", "x"}}, {
			{x86 + "ruby/imagestreams/ruby-rhel.json", streamText("ruby", "r.example.com/ubi9/ruby:3", "r.example.com/ubi8/ruby")},
			{x86 + "java/imagestreams/more/java.json", streamText("java", "r.example.com/java@sha256:"+strings.Repeat("a", 64))},
			{x86 + "java/imagestreams/java-again.json", streamText("java", "r.example.com/java:1")},
			{x86 + "ruby/templates/ruby.json", `{"kind":"Template"}`},
			{x86 + "ruby/imagestreams/README.md", "text"},
		}, {{arm + "ruby/imagestreams/ruby-rhel.json", streamText("ruby")}}}, []Sample{
			{"java", "amd64", []string{"r.example.com/java:1", "r.example.com/java@sha256:" + strings.Repeat("a", 64)}},
			{"ruby", "amd64", []string{"r.example.com/ubi8/ruby:latest", "r.example.com/ubi9/ruby:3"}},
			{"ruby", "arm64", nil},
		}, ""},
		{"replaced and removed", [][]entry{{
			{x86 + "a/imagestreams/a.json", streamText("a", "r.example.com/a:1")}, {x86 + "b/imagestreams/b.json", streamText("b", "r.example.com/b:1")},
		}, {{x86 + "a/imagestreams/a.json", streamText("a", "r.example.com/a:2")}, {x86 + ".wh.b", ""}}}, []Sample{{"a", "amd64", []string{"r.example.com/a:2"}}}, ""},
		{"none", [][]entry{{{"usr/bin/operator", "x"}}}, nil, ""},
		{"not JSON", [][]entry{{{x86 + "a/imagestreams/a.json", "{"}}}, nil, "reading x86_64/a/imagestreams/a.json"},
		{"another kind", [][]entry{{{x86 + "a/imagestreams/a.json", `{"kind":"Template"}`}}}, nil, `kind "Template", want ImageStream`},
		{"no name", [][]entry{{{x86 + "a/imagestreams/a.json", streamText("")}}}, nil, "has no name"},
		{"no reference", [][]entry{{{x86 + "a/imagestreams/a.json", streamText("a", "A B")}}}, nil, `tag "1"`},
		{"too large", [][]entry{{{x86 + "a/imagestreams/a.json", streamText(strings.Repeat("a", maxStreamFile))}}}, nil, "a.json"},
		{"too many tags", [][]entry{{{x86 + "a/imagestreams/a.json", streamText("a", make([]string, maxStreamTags)...)}}}, nil, "more than 1024"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m := newMemory()
			desc := m.image(t, spec{layers: tc.layers})
			p := &Payload{Release: Release{Version: "4.20.5"}, Components: []Component{
				{Names: []string{"alias", "cluster-samples-operator"}, Ref: repository, Digest: desc.Digest},
			}}
			got, found, err := p.Samples(t.Context(), m)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) || !strings.Contains(err.Error(), "reading the samples of release 4.20.5") {
					t.Errorf("got %v, want %q", err, tc.err)
				}
				return
			}
			if diff := cmp.Diff(tc.want, got); err != nil || diff != "" || !found {
				t.Errorf("%v, found %t: %s", err, found, diff)
			}
		})
	}
	if got, found, err := (&Payload{}).Samples(t.Context(), newMemory()); got != nil || found || err != nil {
		t.Errorf("a release without the operator has %v, %t, %v", got, found, err)
	}
}
