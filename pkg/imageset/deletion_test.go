package imageset_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/imageset"
)

const deletionHeader = "apiVersion: mirror.openshift.io/v2alpha1\nkind: DeleteImageSetConfiguration\n"

func TestParseDeletion(t *testing.T) {
	for text, want := range map[string]string{
		deletionHeader + "delete: {operators: [{catalog: quay.io/a/b:c}]}":                                            "",
		deletionHeader + "delete: {operators: [{catalog: quay.io/a/b:c, dependencies: true}]}":                        "dependencies: has no meaning for deletions",
		deletionHeader + "delete: {operators: [{catalog: quay.io/a/b:c, installed: [{package: a, version: 1.0.0}]}]}": "installed: has no meaning for deletions",
		deletionHeader + "delete: {additionalImages: [{name: quay.io/a/b, tags: {regex: a}}]}":                        "tags: has no meaning for deletions",
		deletionHeader + "delete: {operators: [{catalog: quay.io/a/b:c}], samples: [{name: a}]}":                      "",
		deletionHeader + "delete: {files: [{url: https://a.example.com}]}":                                            `unknown field "files"`,
		deletionHeader + "delete: {}":             "there is nothing to delete",
		deletionHeader + "delete:":                "there is nothing to delete",
		deletionHeader:                            `field "delete" is missing`,
		deletionHeader + "mirror: {}":             "belongs to an ImageSetConfiguration",
		"kind: ImageSetConfiguration\nmirror: {}": "this is an ImageSetConfiguration",
		"kind: Pod\ndelete: {}":                   `"Pod" is not a supported kind`,
		"":                                        "the file is empty",
	} {
		d, err := imageset.ParseDeletion("d.yaml", []byte(text))
		if err == nil {
			err = d.Usable()
		}
		var e *imageset.Error
		switch {
		case want == "" && err != nil, want != "" && !errors.As(err, &e):
			t.Errorf("%q: %v, want %q", text, err, want)
		case want != "":
			all := elements.Map(e.Problems, func(p imageset.Problem) string { return p.String() })
			if !strings.Contains(strings.Join(all, "\n"), want) {
				t.Errorf("%q: %q, want %q", text, all, want)
			}
		}
	}
}

// TestCheckReadsBothKinds checks that Check reads files of both kinds and returns their warnings.
func TestCheckReadsBothKinds(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.yaml")
	for text, warnings := range map[string]int{
		deletionHeader + "delete: {operators: [{catalog: quay.io/a/b:c}]}":                                                           1,
		"kind: ImageSetConfiguration\nmirror: {operators: [{catalog: quay.io/a/b:c}]}":                                               1,
		"apiVersion: mirror.openshift.io/v2alpha1\nkind: ImageSetConfiguration\nmirror: {additionalImages: [{name: quay.io/a/b:c}]}": 0,
	} {
		if warnings == 1 {
			text = strings.Replace(text, "apiVersion: mirror.openshift.io/v2alpha1\n", "", 1)
		}
		fail.On(t, os.WriteFile(file, []byte(text), 0o600))
		if got, err := imageset.Check(file); err != nil || len(got) != warnings {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

// TestDeletionSchema checks that the schema has the fields of delete and no others.
func TestDeletionSchema(t *testing.T) {
	var s struct {
		Title      string
		Properties map[string]struct{ Properties map[string]any }
	}
	if err := json.Unmarshal(imageset.DeletionSchema(), &s); err != nil || s.Title != imageset.DeletionKind {
		t.Fatal(err, s.Title)
	}
	var names []string
	for name := range s.Properties["delete"].Properties {
		names = append(names, name)
	}
	fail.Diff(t, []string{"additionalImages", "helm", "operators", "platform"}, names, cmpopts.SortSlices(func(a, b string) bool { return a < b }))
}

// FuzzParseDeletion checks that what is accepted is written and read back equal.
func FuzzParseDeletion(f *testing.F) {
	f.Add([]byte(deletionHeader + "delete: {operators: [{catalog: quay.io/a/b:c, packages: [{name: a, minVersion: 1.0.0}]}]}"))
	f.Add([]byte(deletionHeader + "delete: {platform: {graph: true, channels: [{name: stable-4.20}]}, additionalImages: [{name: quay.io/a/b:c}]}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := imageset.ParseDeletion("f", text)
		if err != nil {
			checkProblems(t, text, err)
			return
		}
		written, err := json.Marshal(d)
		fail.On(t, err)
		again, err := imageset.ParseDeletion("f", written)
		if err != nil {
			t.Fatalf("%s: %v", written, err)
		}
		if diff := cmp.Diff(d, again, patterns, noPositions, cmpopts.IgnoreFields(imageset.Deletion{}, "Warnings", "Unusable", "Text")); diff != "" {
			t.Errorf("%s (-first +again):\n%s", written, diff)
		}
	})
}
