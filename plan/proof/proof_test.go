package proof

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/platform/graphdata"
	"github.com/gantry-mirror/gantry/pkg/platform/payload"
	"github.com/gantry-mirror/gantry/pkg/platform/releasetest"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// small returns a mirror of everything for amd64 in releasetest.Small, with its graph data.
func small(t *testing.T) *Mirror {
	t.Helper()
	u := releasetest.Small()
	w, err := releasetest.New(u)
	fail.On(t, err)
	m := &Mirror{}
	if m.Data, err = graphdata.Read(bytes.NewReader(w.GraphData())); err != nil {
		t.Fatal(err)
	}
	for _, p := range w.Payloads {
		if p.Arch != release.DefaultArch {
			continue
		}
		m.Releases = append(m.Releases, Release{
			Release: payload.Release{Version: p.Version, Arch: p.Arch, Digest: p.Digest, Previous: p.Previous, Next: p.Next},
			Tag:     p.Name, Ref: "mirror.example.com/r@" + p.Digest.String(),
		})
	}
	return m
}

func TestProve(t *testing.T) {
	all := small(t)
	without := func(version string) func(*Mirror) {
		return func(m *Mirror) {
			m.Releases = slices.DeleteFunc(m.Releases, func(r Release) bool { return r.Version == version })
		}
	}
	noData := func(m *Mirror) { m.Data = nil }
	for _, test := range []struct {
		name    string
		change  func(*Mirror)
		channel string
		hop     Hop
		found   []string
		problem string
	}{
		{"recommended", nil, "fast-4.20", Hop{From: "4.19.2", To: "4.20.2"}, nil, ""},
		{"with the planned risk", nil, "fast-4.20", Hop{"4.18.1", "4.19.1", []string{"PausedPools"}}, []string{"PausedPools"}, ""},
		{"with fewer risks than planned", nil, "fast-4.20", Hop{"4.18.1", "4.19.1", []string{"Gone", "PausedPools"}}, []string{"PausedPools"}, ""},
		{"with a risk that was not planned", nil, "fast-4.20", Hop{From: "4.18.1", To: "4.19.1"}, []string{"PausedPools"}, "that the plan does not list: PausedPools"},
		{"blocked", nil, "fast-4.20", Hop{From: "4.19.1", To: "4.20.2"}, nil, "blocks the update from 4.19.1 to 4.20.2"},
		{"down", nil, "fast-4.20", Hop{From: "4.20.2", To: "4.20.1"}, nil, "neither release declares an update from 4.20.2 to 4.20.1"},
		{"of another channel", nil, "eus-4.20", Hop{From: "4.18.1", To: "4.19.1"}, nil, "does not have 4.19.1 in channel eus-4.20"},
		{"of no channel", nil, "fast-4.2", Hop{From: "4.18.1", To: "4.19.1"}, nil, `the graph data has no channel "fast-4.2"`},
		{"without its target", without("4.20.2"), "fast-4.20", Hop{From: "4.19.2", To: "4.20.2"}, nil, "the mirror has no tag 4.20.2-x86_64"},
		{"without either", func(m *Mirror) { m.Releases = nil }, "fast-4.20", Hop{From: "4.19.2", To: "4.20.2"}, nil, "the mirror has no tag 4.19.2-x86_64; the mirror has no tag 4.20.2-x86_64"},
		{"that cannot be read", func(m *Mirror) {
			without("4.20.2")(m)
			m.Releases = append(m.Releases, Release{Tag: "4.20.2-x86_64", Err: errors.New("its layer is gone")})
		}, "fast-4.20", Hop{From: "4.19.2", To: "4.20.2"}, nil, "its layer is gone"},
		{"of two images", func(m *Mirror) {
			r := m.Releases[0]
			r.Ref += "0"
			m.Releases = append(m.Releases, r)
		}, "fast-4.20", Hop{From: "4.19.2", To: "4.20.2"}, nil, "release 4.18.1-x86_64: duplicate release"},
		{"without graph data", noData, "fast-4.20", Hop{"4.18.1", "4.19.1", []string{"PausedPools"}}, nil, ""},
		{"declared by the source alone, without graph data", func(m *Mirror) {
			noData(m)
			m.Releases[0].Next = []string{"4.20.2"}
		}, "fast-4.20", Hop{From: "4.18.1", To: "4.20.2"}, nil, ""},
		{"not declared, without graph data", noData, "fast-4.20", Hop{From: "4.18.1", To: "4.20.2"}, nil, "neither release declares"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := &Mirror{Releases: slices.Clone(all.Releases), Data: all.Data}
			if test.change != nil {
				test.change(m)
			}
			v := m.Prove(Update{Channel: test.channel, Arch: release.DefaultArch, Hops: []Hop{test.hop}})[0]
			if !strings.Contains(v.Problem, test.problem) || (v.Problem == "") != (test.problem == "") || (v.Problem == "") != (v.Hint == "") {
				t.Errorf("the problem is %q, hint %q; want %q", v.Problem, v.Hint, test.problem)
			}
			fail.Diff(t, test.found, v.Found)
		})
	}
}

// A failing reader returns an error for every tag.
type failing map[string]error

func (f failing) Manifest(_ context.Context, source string, _ digest.Digest) (ocispec.Descriptor, []byte, error) {
	_, tag, _ := strings.Cut(source, ":")
	if err, ok := f[tag]; ok {
		return ocispec.Descriptor{}, nil, err
	}
	return ocispec.Descriptor{}, nil, fmt.Errorf("unexpected request for %s", source)
}

func (f failing) Blob(context.Context, string, ocispec.Descriptor, int64) (io.ReadCloser, error) {
	return nil, errors.New("unexpected request for a blob")
}

func TestReadFailing(t *testing.T) {
	gone := failing{"4.20.1-x86_64": fmt.Errorf("no such blob: %w", fs.ErrNotExist), "notes": payload.ErrNoRelease}
	tags := []string{"notes", "4.20.1-x86_64", "sha256-00.sig"}
	found, err := Read(t.Context(), gone, "mirror.example.com/r", tags, 2)
	if err != nil || len(found) != 1 || found[0].Tag != "4.20.1-x86_64" || !errors.Is(found[0].Err, fs.ErrNotExist) {
		t.Errorf("of an incomplete image: %+v, %v", found, err)
	}
	gone["notes"] = errors.New("connection refused")
	if found, err := Read(t.Context(), gone, "mirror.example.com/r", tags, 2); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("of a registry that fails: %+v, %v", found, err)
	}
}
