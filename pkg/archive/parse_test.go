package archive

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/image/layout"
)

// sound returns a set manifest that parseSet accepts.
func sound(t testing.TB) *packing {
	t.Helper()
	p, err := pack(Content{Plan: writeBytes([]byte("{}")), Entries: slices.Values(blobs(20000, 20000, 10))}, 1, digest.FromString("parent"), 32<<10)
	fail.On(t, err)
	return p
}

// reframe adapts the offsets and frames to the entries.
func reframe(s *set) {
	for i := range s.Volumes {
		v := &s.Volumes[i]
		at := int64(0)
		for j := range v.Entries {
			e := &v.Entries[j]
			e.Offset = at + tarHeaderSize(e.path())
			at = e.Offset + padded(e.Size)
		}
		v.Size, v.Frame = at+trailerSize, frame(v.Entries)
	}
}

// refused checks that a set manifest is refused.
func (s *set) refused(t *testing.T, want string) {
	t.Helper()
	raw, err := json.Marshal(s)
	fail.On(t, err)
	_, err = parseSet(raw)
	says(t, err, want)
}

func TestParseSetRefuses(t *testing.T) {
	other := digest.FromString("other")
	for name, tc := range map[string]struct {
		change func(s *set)
		want   string
	}{
		"older format":         {func(s *set) { s.Format = 0 }, "format 0"},
		"newer format":         {func(s *set) { s.Format = 2 }, "a later Gantry"},
		"feature":              {func(s *set) { s.Features = []string{"split", "compressed"} }, `it uses "compressed", which this Gantry does not know: read it with a Gantry of the version that wrote it, or a later one`},
		"feature of nothing":   {func(s *set) { s.Features = []string{"split"} }, "features"},
		"sequence 0":           {func(s *set) { s.Sequence = 0 }, "sequence 0"},
		"sequence":             {func(s *set) { s.Sequence = 1_000_000 }, "sequence 1000000"},
		"another sequence":     {func(s *set) { s.Sequence = 2 }, "is not gantry-000002.0001.tar"},
		"parent":               {func(s *set) { s.Parent = "x" }, "parent"},
		"volume size":          {func(s *set) { s.VolumeSize = -1 }, "volumeSize"},
		"no volumes":           {func(s *set) { s.Volumes = nil }, "0 volumes"},
		"many volumes":         {func(s *set) { s.Volumes = make([]volume, maxVolumes+1) }, "10000 volumes"},
		"volume name":          {func(s *set) { s.Volumes[1].Name = "../x.tar" }, `"../x.tar"`},
		"absolute volume":      {func(s *set) { s.Volumes[0].Name = "/etc/passwd" }, "/etc/passwd"},
		"volumes swapped":      {func(s *set) { s.Volumes[0], s.Volumes[1] = s.Volumes[1], s.Volumes[0] }, "volumes[0]"},
		"negative volume":      {func(s *set) { s.Volumes[0].Size = -512 }, "size -512"},
		"odd volume":           {func(s *set) { s.Volumes[0].Size++ }, "size"},
		"frame":                {func(s *set) { s.Volumes[0].Frame = "sha256:xyz" }, "frame"},
		"frame of other bytes": {func(s *set) { s.Volumes[0].Frame = other }, "does not match its entries"},
		"no frame":             {func(s *set) { s.Volumes[0].Frame = "" }, "frame"},
		"sha512 frame":         {func(s *set) { s.Volumes[0].Frame = digest.SHA512.FromString("") }, "frame"},
		"no entries":           {func(s *set) { s.Volumes[1].Entries = nil }, "no entries"},
		"no label":             {func(s *set) { s.Volumes[1].Entries = s.Volumes[1].Entries[1:] }, "first entry"},
		"another label":        {func(s *set) { s.Volumes[1].Entries[0].Path = labelPath(1, 1) }, "first entry"},
		"two labels":           {func(s *set) { s.Volumes[1].Entries[1].Path = labelPath(1, 2) }, "first entry"},
		"no marker":            {func(s *set) { e := &s.Volumes[0].Entries[1]; e.Path = ""; e.Digest = other; reframe(s) }, "no entry oci-layout"},
		"two plans":            {func(s *set) { s.Volumes[0].Entries[1] = entry{Path: planPath, Digest: s.Plan, Offset: 1536, Size: 2} }, "twice"},
		"plan elsewhere":       {func(s *set) { s.Volumes[1].Entries[1].Path = planPath; s.Volumes[1].Entries[1].Digest = s.Plan }, "does not belong in this volume"},
		"dot dot":              {func(s *set) { s.Volumes[0].Entries[4].Path = "../../etc/passwd" }, "does not belong in an archive"},
		"deep below gantry":    {func(s *set) { s.Volumes[0].Entries[4].Path = "gantry/x/y" }, "does not belong in an archive"},
		"blob path":            {func(s *set) { s.Volumes[0].Entries[4].Path = layout.BlobPath(other) }, "does not belong in an archive"},
		"digest":               {func(s *set) { s.Volumes[0].Entries[4].Digest = "sha256:../../x" }, "digest"},
		"md5":                  {func(s *set) { s.Volumes[0].Entries[4].Digest = "md5:d41d8cd98f00b204e9800998ecf8427e" }, "digest"},
		"sha384":               {func(s *set) { s.Volumes[0].Entries[4].Digest = digest.SHA384.FromString("") }, "only sha256"},
		"the same twice":       {func(s *set) { s.Volumes[1].Entries[1].Digest = s.Volumes[0].Entries[5].Digest; reframe(s) }, "twice"},
		"media type":           {func(s *set) { s.Volumes[0].Entries[4].MediaType = "a/b\nc" }, "mediaType"},
		"media type of a file": {func(s *set) { s.Volumes[0].Entries[1].MediaType = "a/b" }, "mediaType"},
		"negative size":        {func(s *set) { s.Volumes[0].Entries[4].Size = -1 }, "beyond"},
		"huge size":            {func(s *set) { s.Volumes[0].Entries[4].Size = math.MaxInt64 }, "beyond"},
		"a byte beyond": {func(s *set) {
			e := s.Volumes[1].Entries
			e[len(e)-1].Size = s.Volumes[1].Size - 1024 - e[len(e)-1].Offset + 1
		}, "beyond"},
		"negative offset": {func(s *set) { s.Volumes[0].Entries[4].Offset = -512 }, "offset"},
		"huge offset":     {func(s *set) { s.Volumes[0].Entries[4].Offset = math.MaxInt64 - 511 }, "offset"},
		"odd offset":      {func(s *set) { s.Volumes[0].Entries[4].Offset++ }, "offset"},
		"overlap":         {func(s *set) { e := s.Volumes[0].Entries; e[4].Offset = e[3].Offset + 512 }, "offset"},
		"no order":        {func(s *set) { e := s.Volumes[0].Entries; e[3], e[4] = e[4], e[3] }, "offset"},
		"no header":       {func(s *set) { s.Volumes[0].Entries[0].Offset = 0 }, "offset"},
	} {
		t.Run(name, func(t *testing.T) {
			p := sound(t)
			_, err := parseSet(encoded(t, p.set))
			fail.On(t, err)
			tc.change(p.set)
			p.set.refused(t, tc.want)
		})
	}
	for _, text := range []string{"", "{}", "[]", "null", `{"format":"1"}`, `{"format":1.5}`, `{"format":1,"volumes":{}}`, `{"format":1}trailing`} {
		if _, err := parseSet([]byte(text)); err == nil {
			t.Errorf("parseSet(%q) took it", text)
		}
	}
}

func TestParseSetPassesOverUnknownFiles(t *testing.T) {
	p := sound(t)
	p.set.Volumes[0].Entries[4].Path = "gantry/notes.txt"
	reframe(p.set)
	_, err := parseSet(encoded(t, p.set))
	fail.On(t, err)
}

// TestParseSetPassesOverUnknownFields checks that informational fields added by later versions are
// ignored.
func TestParseSetPassesOverUnknownFields(t *testing.T) {
	p := sound(t)
	raw := bytes.Replace(encoded(t, p.set), []byte(`{"format":1,`), []byte(`{"format":1,"builtOn":["x"],"by":{"name":"y"},`), 1)
	s, err := parseSet(raw)
	fail.On(t, err)
	fail.Diff(t, p.set, s)
}

func FuzzSet(f *testing.F) {
	f.Add(encoded(f, sound(f).set))
	p, err := pack(Content{Plan: writeBytes([]byte("{}")), Entries: slices.Values(blobs(1))}, maxSequence, "", 1<<40)
	fail.On(f, err)
	f.Add(encoded(f, p.set))
	f.Add(bytes.ReplaceAll(encoded(f, p.set), []byte(`"offset":`), []byte(`"offset":9223372036854775807,"o":`)))
	f.Add(encoded(f, inParts(f)))
	f.Add(encoded(f, repairing(f)))
	compact := newCompact(f, 2)
	p, err = pack(compact.content(), 1, "", 1<<20)
	fail.On(f, err)
	f.Add(encoded(f, p.set))
	f.Add(bytes.ReplaceAll(encoded(f, p.set), []byte(`"format":2}`), []byte(`"format":2,"bases":[]}`)))
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := parseSet(raw)
		if err != nil {
			return
		}
		parts := map[digest.Digest]int64{}
		for _, v := range s.Volumes {
			if strings.ContainsAny(v.Name, `/\:`) || !strings.HasPrefix(v.Name, "gantry-") {
				t.Fatalf("accepted volume %q", v.Name)
			}
			var end int64
			for _, e := range v.Entries {
				if e.Offset < end || e.Size < 0 || e.Offset+e.Size < e.Offset || e.Offset+e.Size > v.Size {
					t.Fatalf("accepted entry %+v after %d in %d bytes", e, end, v.Size)
				}
				end = e.Offset + e.Size
				if e.Part != nil {
					if parts[e.Digest] != e.Part.At {
						t.Fatalf("accepted part %+v after %d bytes", e.Part, parts[e.Digest])
					}
					parts[e.Digest] += e.Size
				}
				if p := e.path(); strings.HasPrefix(p, "/") || strings.Contains(p, "..") || strings.ContainsAny(p, "\\:\x00\n") {
					t.Fatalf("accepted path %q", p)
				}
			}
		}
		written := encoded(t, s)
		again, err := parseSet(written)
		if err != nil {
			t.Fatalf("wrote %s, which is refused: %v", written, err)
		}
		fail.Diff(t, s, again, cmpopts.EquateEmpty())
	})
}

// parseSet parses the complete text of an unencrypted set manifest.
func parseSet(raw []byte) (*set, error) { return parse(bytes.NewReader(raw), false, nil) }
