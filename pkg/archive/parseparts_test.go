package archive

import (
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// inParts returns a set manifest with a blob in three parts. The set builds on another one and
// leaves out what the site has.
func inParts(t testing.TB) *set {
	t.Helper()
	all := blobs(80000, 30000, 20)
	held := all[1].Digest
	o := &Options{VolumeSize: 32 << 10, Base: &Base{
		Sets:         []state.SetRef{{Sequence: 2, Set: digest.FromString("2")}, {Sequence: 1, Set: digest.FromString("1")}},
		Has:          func(d digest.Digest) bool { return d == held },
		RepositoryOf: func(digest.Digest) string { return "org/name" },
	}}
	p, err := o.pack(Content{Name: "series", Plan: writeBytes([]byte("{}")), Entries: slices.Values(all)}, 3, digest.FromString("2"), nil)
	fail.On(t, err)
	for i := range p.set.Volumes {
		for _, e := range p.set.Volumes[i].Entries {
			if e.Part != nil {
				e.Part.Digest = digest.FromString(e.path())
			}
		}
	}
	return p.set
}

// repairing returns the set manifest of a repair.
func repairing(t testing.TB) *set {
	t.Helper()
	o := &Options{VolumeSize: 32 << 10, Repair: &Repair{state.SetRef{Sequence: 4, Set: digest.FromString("4")}, digest.FromString("plan")}}
	p, err := o.pack(Content{Name: "series", Entries: slices.Values(blobs(100))}, 4, "", nil)
	fail.On(t, err)
	return p.set
}

func TestParseSetRefusesLineageAndParts(t *testing.T) {
	piece := func(s *set, number int) *entry {
		for i := range s.Volumes {
			for j := range s.Volumes[i].Entries {
				if e := &s.Volumes[i].Entries[j]; e.Part != nil && e.Part.Number == number {
					return e
				}
			}
		}
		return nil
	}
	type change func(s *set)
	for name, tc := range map[string]struct {
		of     func(testing.TB) *set
		change change
		want   string
	}{
		"unsaid split":      {inParts, func(s *set) { s.Features = s.Features[:1] }, "features"},
		"unsaid base":       {inParts, func(s *set) { s.Features = s.Features[1:] }, "features"},
		"no base":           {inParts, func(s *set) { s.BuildsOn, s.Features = nil, s.Features[1:] }, "builds on nothing"},
		"base order":        {inParts, func(s *set) { s.BuildsOn[0].Sequence = 2 }, "builds on sequence 2, after 2"},
		"base of the":       {inParts, func(s *set) { s.BuildsOn[1].Sequence = 3 }, "builds on sequence 3"},
		"base zero":         {inParts, func(s *set) { s.BuildsOn[0].Sequence = 0 }, "builds on sequence 0"},
		"base digest":       {inParts, func(s *set) { s.BuildsOn[0].Set = "sha256:x" }, "builds on sequence 1"},
		"elsewhere digest":  {inParts, func(s *set) { s.Omitted[0].Digest = "x" }, "elsewhere"},
		"elsewhere size":    {inParts, func(s *set) { s.Omitted[0].Size = -1 }, "elsewhere"},
		"elsewhere path":    {inParts, func(s *set) { s.Omitted[0].Repository = "../x" }, "elsewhere"},
		"elsewhere twice":   {inParts, func(s *set) { s.Omitted = append(s.Omitted, s.Omitted[0]) }, "does not come after"},
		"elsewhere and in":  {inParts, func(s *set) { s.Omitted[0].Digest = piece(s, 1).Digest }, "elsewhere and in a volume"},
		"name":              {inParts, func(s *set) { s.Name = "../x" }, `name "../x"`},
		"long name":         {inParts, func(s *set) { s.Name = strings.Repeat("x", 256) }, "name"},
		"part 0":            {inParts, func(s *set) { piece(s, 1).Part.Number = 0 }, "part 0 of 3"},
		"part 4":            {inParts, func(s *set) { piece(s, 3).Part.Number = 4 }, "part 4 of 3"},
		"one part":          {inParts, func(s *set) { piece(s, 1).Part.Parts = 1 }, "part 1 of 1"},
		"many parts":        {inParts, func(s *set) { piece(s, 1).Part.Parts = maxVolumes + 1 }, "of 10000"},
		"other count":       {inParts, func(s *set) { piece(s, 2).Part.Parts = 5 }, "does not follow"},
		"other size":        {inParts, func(s *set) { piece(s, 2).Part.Size++ }, "does not follow"},
		"other media type":  {inParts, func(s *set) { piece(s, 2).MediaType = "a/b" }, "does not follow"},
		"order":             {inParts, func(s *set) { piece(s, 2).Part.Number = 3 }, "does not follow"},
		"gap":               {inParts, func(s *set) { piece(s, 2).Part.At++ }, "the one before ends"},
		"begins late":       {inParts, func(s *set) { piece(s, 1).Part.At = 5 }, "begins at 5"},
		"too short":         {inParts, func(s *set) { piece(s, 3).Size-- }, "has"},
		"ends early":        {inParts, func(s *set) { v := &s.Volumes[2]; v.Entries = v.Entries[:1] }, "ends with part 2 of 3"},
		"no digest":         {inParts, func(s *set) { piece(s, 1).Part.Digest = "" }, "is not a sha256"},
		"sha512 of a part":  {inParts, func(s *set) { piece(s, 1).Part.Digest = digest.SHA512.FromString("") }, "is not a sha256"},
		"part of a file":    {inParts, func(s *set) { s.Volumes[0].Entries[1].Part = piece(s, 1).Part }, "is not in parts"},
		"repairs another":   {repairing, func(s *set) { s.Repairs.Sequence = 5 }, "repairs sequence 5"},
		"repairs no digest": {repairing, func(s *set) { s.Repairs.Set = "" }, "repairs sequence 4"},
		"repair of a base": {repairing, func(s *set) {
			s.BuildsOn = []state.SetRef{{Sequence: 1, Set: digest.FromString("1")}}
			s.Features = []string{featureBuildsOn, featureRepair}
		}, "and builds on others"},
		"repair's volume": {repairing, func(s *set) { s.Volumes[0].Name = volumeName(4, 1) }, "is not gantry-000004-repair.0001.tar"},
		"repair's label":  {repairing, func(s *set) { s.Volumes[0].Entries[0].Path = labelPath(4, 1) }, "gantry/000004-repair.0001.json has to be the first"},
	} {
		t.Run(name, func(t *testing.T) {
			s := tc.of(t)
			_, err := parseSet(encoded(t, s))
			fail.On(t, err)
			tc.change(s)
			if s.Volumes[0].Name == s.id().volume(1) && tc.want != "is not in parts" {
				reframe(s) // an attacker would do that too
			}
			s.refused(t, tc.want)
		})
	}
}
