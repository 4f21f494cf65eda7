package setrecord

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// A manifest that is accepted is written and read back equal.
func FuzzManifest(f *testing.F) {
	layer := func(mediaType string) ocispec.Descriptor {
		return ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromString(mediaType), Size: 9}
	}
	revision := Revision{
		Name: "one", Number: 3, Runs: 40, Since: time.Unix(1700000000, 0).UTC(), LastRun: time.Unix(1800000000, 0).UTC(), Host: "h", User: "ü", From: FromArchive,
		Plan: digest.FromString("p"), Record: digest.FromString("r"), Previous: digest.FromString("m"), MaxNestedPaths: 2,
		Content: Content{1, 2, 3, 4, 5, 6, 7, 8, 9}, RecordLayer: layer(RecordType), PlanLayer: layer(PlanType),
	}
	raw, err := revision.manifest()
	fail.On(f, err)
	f.Add(raw)
	f.Add(bytes.ReplaceAll(raw, []byte("2027"), []byte("9999")))
	f.Fuzz(func(t *testing.T, raw []byte) {
		accepted, err := parseManifest(raw)
		if err != nil {
			return
		}
		written, err := accepted.manifest()
		if err != nil {
			t.Fatalf("%v in %s", err, raw)
		}
		again, err := parseManifest(written)
		fail.On(t, err)
		again.Manifest = accepted.Manifest
		fail.Diff(t, accepted, again)
	})
}

// A record that is accepted is written and read back equal, and is in its mirror.
func FuzzRecord(f *testing.F) {
	n, err := neutral(record("a", "b"), "mirror.example.com:5000", "ocp")
	fail.On(f, err)
	var b bytes.Buffer
	fail.On(f, n.Write(&b))
	f.Add(b.String())
	f.Add(`{"images": null, "new": [1]}`)
	f.Fuzz(func(t *testing.T, s string) {
		accepted, err := readRecord(strings.NewReader(s), "h.example.com", "p/q")
		if err != nil {
			return
		}
		for _, img := range accepted.Images {
			if img.Mirror.Host != "h.example.com" || !strings.HasPrefix(img.Mirror.Path, "p/q/") {
				t.Fatalf("%s is not in the mirror", img.Mirror)
			}
		}
		n, err := neutral(accepted, "h.example.com", "p/q")
		fail.On(t, err)
		var b strings.Builder
		fail.On(t, n.Write(&b))
		again, err := readRecord(strings.NewReader(b.String()), "h.example.com", "p/q")
		fail.On(t, err)
		fail.Diff(t, accepted, again, cmpopts.EquateEmpty())
	})
}

func FuzzTags(f *testing.F) {
	f.Add("one", 1)
	f.Add("one.t1.0123456789ab", 2)
	f.Fuzz(func(t *testing.T, name string, number int) {
		if number < 1 || number > maxNumber {
			return
		}
		revision := Revision{Name: name, Number: number}
		list := listTags([]string{revision.Tag(), Tag(name)})
		if len(list) != 1 || !list[0].Current || !list[0].Has(&revision) || list[0].Tag != Tag(name) || slices.Contains([]string{revision.Tag()}, Tag(name)) {
			t.Errorf("%q: %q and %q are %+v", name, Tag(name), revision.Tag(), list)
		}
	})
}
