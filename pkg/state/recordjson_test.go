package state

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/resources"
)

// A record is written as encoding/json would write it, and read back equal.
func TestRecordWriteAndRead(t *testing.T) {
	full := catalogRecord("h/org/index:v1", "org/index", "v1", "one", "lantern")
	for _, path := range []string{"org/a", "org/b"} {
		at := reference.Reference{Host: "mirror.example.com", Path: "ocp/" + path, Tag: "v1", Digest: digest.FromString(path)}
		full.Images = append(full.Images, resources.Image{Source: reference.Reference{Host: "src.example.com", Path: path, Tag: "v1"}, Mirror: at, Kind: "operator"})
	}
	full.Releases = []Release{{Version: "4.20.1", Arch: "amd64", Source: "quay.io/r@" + digest.FromString("r").String(), Channels: []string{"stable-4.20"}}}
	full.GraphData = &reference.Reference{Host: "mirror.example.com", Path: "graph"}
	full.Updates = []release.UpdatePath{{Arch: "amd64", Channel: "stable-4.20", Hops: []release.Hop{{From: "4.20.0", To: "4.20.1", Acks: []release.Ack{{Name: "ack"}}}}}}
	full.Names = []resources.CatalogName{{Source: "h/org/index:v1", Target: ":v2", Place: "mirror.example.com/org/index:v2", Name: "index-v2"}}
	full.Runs = 3
	full.Clusters = &Clusters{Operators: []ClusterOperator{{Package: "kite", Bundle: "kite.v1.0.0", Version: "1.0.0", Channel: "stable", OLM: OLMV1}}, Releases: []ClusterRelease{{Version: "4.20.1"}}}
	for _, r := range []Record{{}, full} {
		var text bytes.Buffer
		fail.On(t, r.Write(&text))
		var byJSON Record
		if err := json.Unmarshal(text.Bytes(), &byJSON); err != nil {
			t.Fatalf("%v in %s", err, text.String())
		}
		read, err := readRecord(json.NewDecoder(&text))
		fail.On(t, err)
		for how, got := range map[string]Record{"json": byJSON, "readRecord": read} {
			if diff := cmp.Diff(r, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("read with %s: %s", how, diff)
			}
		}
	}
}

func TestReadRecordRefuses(t *testing.T) {
	for _, text := range []string{``, `[]`, `{"images": 1}`, `{"images": [`, `{"images": [{"Source": 1}]}`, `{"turn": "x"}`, `{`} {
		if _, err := readRecord(json.NewDecoder(bytes.NewBufferString(text))); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}
