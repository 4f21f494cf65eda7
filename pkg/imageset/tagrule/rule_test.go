package tagrule_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/imageset/tagrule"
)

const digestTag = "sha256-e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// tags are those of a repository, as registries have them.
var tags = []string{
	"latest", "v1.2.3", "v1.2.10", "1.2.10", "1.2", "v1.10.0", "v2.0.0-rc.1", "v2.0.0-rc.2", "2024.01.15", "1.4.0_3", "1.4.0_12", "main-7d0aef1",
	digestTag, digestTag + ".sig", digestTag + ".att", digestTag + ".sbom",
}

func TestSelect(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rule tagrule.Rule
		want string
	}{
		"all":                         {tagrule.Rule{}, "1.2 1.2.10 1.4.0_12 1.4.0_3 2024.01.15 latest main-7d0aef1 v1.10.0 v1.2.10 v1.2.3 v2.0.0-rc.1 v2.0.0-rc.2"},
		"regex is for the whole tag":  {tagrule.Rule{Regex: `v1\.2`}, ""},
		"alternatives too":            {tagrule.Rule{Regex: `latest|v1`}, "latest"},
		"regex":                       {tagrule.Rule{Regex: `v1\.2\..*`}, "v1.2.10 v1.2.3"},
		"a regex cannot ask for .sig": {tagrule.Rule{Regex: `.*\.sig|sha256-.*`}, ""},
		"semver":                      {tagrule.Rule{Semver: ">=1.2.4 <2"}, "1.2.10 1.4.0_12 1.4.0_3 v1.10.0 v1.2.10"},
		"a range with prereleases":    {tagrule.Rule{Semver: ">=2.0.0-0 <3"}, "v2.0.0-rc.1 v2.0.0-rc.2"},
		"parts of versions":           {tagrule.Rule{Semver: "1.2.0"}, "1.2"},
		"two ranges":                  {tagrule.Rule{Semver: "~1.10 || ~2024"}, "2024.01.15 v1.10.0"},
		"exclude":                     {tagrule.Rule{Semver: "~1.2", Exclude: []string{"v.*", "1[.]2"}}, "1.2.10"},
		"newest versions":             {tagrule.Rule{Semver: "<2", Newest: 2}, "1.4.0_12 v1.10.0"},
		"newest without semver":       {tagrule.Rule{Regex: "v.*", Newest: 2}, "v2.0.0-rc.1 v2.0.0-rc.2"},
		"newest of equal versions":    {tagrule.Rule{Semver: "1.2.10", Newest: 1}, "v1.2.10"},
		"newest of few":               {tagrule.Rule{Regex: "latest", Newest: 3}, "latest"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := tagrule.New(c.rule)
			fail.On(t, err)
			for range 3 {
				shuffled := slices.Clone(tags)
				rand.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
				matched := s.Match(append(shuffled, shuffled[0])) // a registry may list one twice
				if s.NeedsDates(matched) {
					t.Error("it needs dates")
				}
				fail.Diff(t, c.want, strings.Join(s.Choose(matched, nil), " "))
			}
		})
	}
}

func TestAges(t *testing.T) {
	t.Parallel()
	day := func(n int) time.Time { return time.Date(2026, 1, n, 12, 0, 0, 0, time.UTC) }
	created := map[string]time.Time{"a": day(1), "b": day(2), "c": day(3), "1.0": day(4), "undated": {}}
	midnight := day(3).Truncate(24 * time.Hour)
	for name, c := range map[string]struct {
		rule tagrule.Rule
		want string
	}{
		"before":                {tagrule.Rule{Before: midnight}, "a b"},
		"after":                 {tagrule.Rule{After: midnight}, "1.0 c"},
		"both":                  {tagrule.Rule{After: midnight, Before: midnight.AddDate(0, 0, 1)}, "c"},
		"at that time":          {tagrule.Rule{After: day(3), Before: day(4)}, "c"},
		"newest by time":        {tagrule.Rule{Newest: 2}, "1.0 c"},
		"undated are oldest":    {tagrule.Rule{Newest: 4}, "1.0 a b c"},
		"newest of older ones":  {tagrule.Rule{Newest: 1, Before: midnight}, "b"},
		"versions come by date": {tagrule.Rule{Newest: 1, Regex: "1.0|c"}, "1.0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := tagrule.New(c.rule)
			fail.On(t, err)
			matched := s.Match([]string{"a", "b", "c", "1.0", "undated"})
			if !s.NeedsDates(matched) {
				t.Error("it needs no dates")
			}
			fail.Diff(t, c.want, strings.Join(s.Choose(matched, created), " "))
		})
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rule tagrule.Rule
		tags []string
		want string
	}{
		"part":        {tagrule.Rule{Regex: `2\.1`}, tags, `regex must match the whole tag; for v1.2.10, 1.2.10, write ".*2\\.1.*"`},
		"no part":     {tagrule.Rule{Regex: "v3.*"}, tags, "it has 2024.01.15, v2.0.0-rc.2, v2.0.0-rc.1 and 9 more"},
		"prereleases": {tagrule.Rule{Semver: "~2"}, tags, `v2.0.0-rc.2, v2.0.0-rc.1 are prereleases: a range matches prereleases only if it has one, such as ">=1.2.0-0"`},
		"higher":      {tagrule.Rule{Semver: ">2025"}, tags, `the highest versions outside of ">2025" are 2024.01.15, v2.0.0-rc.2, v2.0.0-rc.1 and 7 more`},
		"no version":  {tagrule.Rule{Semver: ">1"}, []string{"latest", "main"}, "no tag is a version; it has main, latest"},
		"excluded":    {tagrule.Rule{Regex: "latest", Exclude: []string{".*t"}}, tags, "latest matches, but is excluded"},
		"both":        {tagrule.Rule{Semver: ">3", Exclude: []string{".*-b"}}, []string{"1.0.0", "1.0.0-b"}, `the highest versions outside of ">3" are 1.0.0, 1.0.0-b`},
		"signatures":  {tagrule.Rule{}, []string{digestTag + ".sig"}, "it has only signatures and other content that belongs to images"}, "nothing": {tagrule.Rule{}, nil, "the repository has no tags"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := tagrule.New(c.rule)
			fail.On(t, err)
			if matched := s.Match(c.tags); len(matched) > 0 {
				t.Errorf("matched: %v", matched)
			}
			fail.Diff(t, c.want, s.Nearest(c.tags))
		})
	}
}

func TestUnused(t *testing.T) {
	t.Parallel()
	s, err := tagrule.New(tagrule.Rule{Exclude: []string{"rc", ".*-rc", "beta", "latest"}})
	fail.On(t, err)
	all := []string{"v1", "v2-rc1", "latest"}
	fail.Diff(t, []string{"rc", ".*-rc"}, s.Unused(all, []string{"v1", "v2-rc1"}))
}

func TestInvalid(t *testing.T) {
	t.Parallel()
	for _, r := range []tagrule.Rule{{Regex: "("}, {Exclude: []string{"["}}, {Semver: ">=>1"}, {Semver: "main"}, {Regex: ")("}} {
		if _, err := tagrule.New(r); err == nil {
			t.Errorf("%+v: no error", r)
		}
	}
}

func TestCutoff(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 23, 59, 0, 0, time.FixedZone("", -5*3600)) // 2 March in UTC
	for text, want := range map[string]string{
		"1d": "2026-03-01", "30d": "2026-01-31", "2w": "2026-02-16", "2026-01-31": "2026-01-31", "36500d": "1926-03-27",
		"0d": "", "36501d": "", "-1d": "", "+1d": "", "1h": "", "d": "", "": "", "1.5d": "", "2026-02-30": "", "99999999999999999999d": "", "9223372036854775807w": "",
	} {
		got, err := tagrule.Cutoff(text, now)
		switch {
		case want == "" && err == nil:
			t.Errorf("%q is accepted: %v", text, got)
		case want != "" && (err != nil || got.Format(time.RFC3339) != want+"T00:00:00Z"):
			t.Errorf("%q: %v, %v; want %s", text, got, err, want)
		}
	}
}

// FuzzMatch checks that every tag that matches meets the rule by itself, that none is lost, and that
// newest selects the highest.
func FuzzMatch(f *testing.F) {
	f.Add("v1.*", ">=1", "v1.0.0 v2 latest", 1)
	f.Add("", "", digestTag+" a", 0)
	f.Fuzz(func(t *testing.T, regex, versions, list string, newest int) {
		s, err := tagrule.New(tagrule.Rule{Regex: regex, Semver: versions})
		if err != nil {
			return
		}
		all := strings.Fields(list)
		matched := s.Match(all)
		for _, tag := range all {
			alone := len(s.Match([]string{tag})) == 1
			if together := slices.ContainsFunc(matched, func(m tagrule.Tag) bool { return m.Name == tag }); alone != together || alone && tagrule.IsAttached(tag) {
				t.Errorf("%q: alone %t, together %t", tag, alone, together)
			}
		}
		limited, err := tagrule.New(tagrule.Rule{Regex: regex, Semver: versions, Newest: newest})
		if err != nil || newest <= 0 || limited.NeedsDates(matched) {
			return
		}
		chosen := limited.Choose(limited.Match(all), nil)
		for i, m := range matched {
			if slices.Contains(chosen, m.Name) != (i < newest) {
				t.Errorf("newest %d of %v: %v", newest, matched, chosen)
			}
		}
	})
}

func BenchmarkMatch(b *testing.B) {
	s, err := tagrule.New(tagrule.Rule{Semver: ">=1.2", Newest: 3})
	fail.On(b, err)
	var all []string
	for i := range 10_000 {
		all = append(all, fmt.Sprintf("v1.%d.%d", i%100, i/100))
	}
	for b.Loop() {
		s.Choose(s.Match(all), nil)
	}
}
