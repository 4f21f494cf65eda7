package payload

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/blang/semver/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestParseReferences(t *testing.T) {
	a, b := sha("a").String(), sha("b").String()
	const head = `{"kind":"ImageStream","apiVersion":"image.openshift.io/v1","metadata":{"name":"4.20.5"},"spec":{"tags":[`
	tag := func(name, kind, ref string) string {
		return `{"name":"` + name + `","from":{"kind":"` + kind + `","name":"` + ref + `"},"generation":null}`
	}
	for _, tc := range []struct {
		name, tags string
		want       []Component
		err        string
	}{
		{"one", tag("etcd", "DockerImage", "quay.io/x/y@"+a), []Component{{[]string{"etcd"}, "quay.io/x/y@" + a, sha("a")}}, ""},
		{"several names, in any order", tag("z", "DockerImage", "quay.io/x/y@"+a) + "," + tag("m", "DockerImage", "quay.io/x/y@"+b) + "," + tag("a", "DockerImage", "quay.io/x/y@"+a),
			[]Component{{[]string{"a", "z"}, "quay.io/x/y@" + a, sha("a")}, {[]string{"m"}, "quay.io/x/y@" + b, sha("b")}}, ""},
		{"one image in two repositories", tag("b", "DockerImage", "quay.io/x/y@"+a) + "," + tag("a", "DockerImage", "quay.io/x/z@"+a),
			[]Component{{[]string{"a"}, "quay.io/x/z@" + a, sha("a")}, {[]string{"b"}, "quay.io/x/y@" + a, sha("a")}}, ""},
		{"another kind", tag("s", "ImageStreamTag", "x:y") + "," + tag("etcd", "DockerImage", "quay.io/x/y@"+a), []Component{{[]string{"etcd"}, "quay.io/x/y@" + a, sha("a")}}, ""},
		{"no source", `{"name":"s","from":null},` + tag("etcd", "DockerImage", "quay.io/x/y@"+a), []Component{{[]string{"etcd"}, "quay.io/x/y@" + a, sha("a")}}, ""},
		{"a tag", tag("etcd", "DockerImage", "quay.io/x/y:v1"), nil, `component "etcd": image reference "quay.io/x/y:v1" has a tag`},
		{"a tag and a digest", tag("etcd", "DockerImage", "quay.io/x/y:v1@"+a), nil, "has a tag"},
		{"no digest", tag("etcd", "DockerImage", "quay.io/x/y"), nil, "has no digest"},
		{"a short digest", tag("etcd", "DockerImage", "quay.io/x/y@sha256:12"), nil, "invalid"},
		{"no name", tag("", "DockerImage", "quay.io/x/y@"+a), nil, "a component has no name"},
		{"a name twice", tag("etcd", "DockerImage", "quay.io/x/y@"+a) + "," + tag("etcd", "DockerImage", "quay.io/x/y@"+b), nil, `"etcd" occurs twice`},
		{"no image", tag("s", "ImageStreamTag", "x:y"), nil, "no images listed"},
	} {
		name, got, _, err := parseReferences([]byte(head + tc.tags + "]}}"))
		if tc.err != "" {
			if err == nil || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s: error %v, want %q", tc.name, err, tc.err)
			}
			continue
		}
		if diff := cmp.Diff(tc.want, got); err != nil || name != "4.20.5" || diff != "" {
			t.Errorf("%s: %q, %v (-want +got):\n%s", tc.name, name, err, diff)
		}
	}
	for text, want := range map[string]string{
		`{"kind":"List","apiVersion":"v1"}`:                           `kind "List" of "v1"`,
		`{"kind":"ImageStream","apiVersion":"v1"}`:                    `of "v1"`,
		`{"kind":"ImageStream","kind":"List"}`:                        "duplicate",
		`{"kind":"ImageStream","apiVersion":"image.openshift.io/v1"}`: "no images listed",
		`{"kind":`: "EOF", ``: "EOF", `[]`: "array",
	} {
		if _, _, _, err := parseReferences([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}

// FuzzReferences checks that accepted references can be written and read again.
func FuzzReferences(f *testing.F) {
	f.Add([]byte(references(f, "4.20.5", "etcd=a", "cli=b", "tools=b")))
	f.Add([]byte(`{"kind":"ImageStream","apiVersion":"image.openshift.io/v1","spec":{"tags":[{"name":"a","from":{"kind":"DockerImage","name":"a@` + sha("a").String() + `"}}]}}`))
	f.Add([]byte(`{"kind":"ImageStream","apiVersion":"image.openshift.io/v1","spec":{"tags":[{"name":"a","from":null}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		name, components, versions, err := parseReferences(data)
		if err != nil {
			return
		}
		for _, v := range versions {
			if _, err := semver.Parse(v.Version); err != nil || v.Name == "" {
				t.Fatalf("version %+v", v)
			}
		}
		var s imageStream
		s.Kind, s.APIVersion, s.Metadata.Name = "ImageStream", "image.openshift.io/v1", name
		for _, c := range components {
			if !strings.HasSuffix(c.Ref, "@"+c.Digest.String()) || len(c.Names) == 0 {
				t.Fatalf("component %+v", c)
			}
			for _, n := range c.Names {
				s.Spec.Tags = append(s.Spec.Tags, imageTag{Name: n, From: imageFrom{Kind: "DockerImage", Name: c.Ref}})
			}
		}
		text, err := json.Marshal(s)
		fail.On(t, err)
		again, got, _, err := parseReferences(text)
		if diff := cmp.Diff(components, got); err != nil || again != name || diff != "" {
			t.Fatalf("%s is read as %q, %v (-read +again):\n%s", text, again, err, diff)
		}
	})
}
