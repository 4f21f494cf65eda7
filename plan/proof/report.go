package proof

import (
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/release"
)

// A Report is the result of a check. Its JSON is the output of gantry check --platform.
type Report struct {
	Version int    `json:"version"`
	Mirror  string `json:"mirror"`
	// GraphData is the graph data image by digest. It is empty if the mirror has none.
	GraphData string          `json:"graphData,omitempty"`
	Updates   []UpdateReport  `json:"updates"`
	Releases  []ReleaseReport `json:"releases"`
	// Blobs says how blobs were checked: "not checked", "present" (the mirror has them with the right
	// length) or "read" (they were read and compared with their digests).
	Blobs string `json:"blobs,omitempty"`
	// Problems concern no single release or hop.
	Problems []Problem `json:"problems,omitempty"`
	Notes    []string  `json:"notes,omitempty"`
}

// An UpdateReport is a path that clusters take. Plan is the name of the plan that contains it,
// empty if there is no plan.
type UpdateReport struct {
	Plan    string      `json:"plan,omitempty"`
	Channel string      `json:"channel"`
	Arch    string      `json:"arch"`
	From    string      `json:"from"`
	To      string      `json:"to"`
	Hops    []HopReport `json:"hops"`
}

// A HopReport is the result for one hop. It is possible if it has no problems and neither of its
// releases has any. Risks are the names of the risks that clusters are shown.
type HopReport struct {
	From     string    `json:"from"`
	To       string    `json:"to"`
	Risks    []string  `json:"risks,omitempty"`
	Possible bool      `json:"possible"`
	Problems []Problem `json:"problems,omitempty"`
}

// A ReleaseReport is the result for one release, which is complete if it has no problems.
type ReleaseReport struct {
	Name     string        `json:"name"`
	Digest   digest.Digest `json:"digest"`
	Problems []Problem     `json:"problems,omitempty"`
}

// A Problem is something that is missing or wrong, its location, and what to do. At is a reference
// or a file, and may be empty.
type Problem struct {
	Problem string `json:"problem"`
	At      string `json:"at,omitempty"`
	Hint    string `json:"hint"`
}

// A ChannelHop is a hop of clusters of one architecture in a channel.
type ChannelHop struct {
	Channel, Arch string
	HopReport
}

// Hops returns each hop once: paths share hops, and plans share paths. It is possible if it is in all
// of them, and has the risks and problems of all.
func (r *Report) Hops() []ChannelHop {
	type key struct{ channel, arch, from, to string }
	at := map[key]int{}
	var all []ChannelHop
	for _, u := range r.Updates {
		for _, h := range u.Hops {
			k := key{u.Channel, u.Arch, h.From, h.To}
			i, ok := at[k]
			if !ok {
				at[k] = len(all)
				h.Risks, h.Problems = slices.Clone(h.Risks), slices.Clone(h.Problems)
				all = append(all, ChannelHop{u.Channel, u.Arch, h})
				continue
			}
			known := &all[i]
			known.Possible = known.Possible && h.Possible
			known.Risks = addMissing(known.Risks, h.Risks)
			known.Problems = addMissing(known.Problems, h.Problems)
		}
	}
	return all
}

func addMissing[T comparable](to, from []T) []T {
	for _, x := range from {
		if !slices.Contains(to, x) {
			to = append(to, x)
		}
	}
	return to
}

// Count returns the number of different hops, of those that are not possible, and of releases that
// are incomplete.
func (r *Report) Count() (hops, impossible, broken int) {
	all := r.Hops()
	for _, h := range all {
		if !h.Possible {
			impossible++
		}
	}
	for _, x := range r.Releases {
		if len(x.Problems) > 0 {
			broken++
		}
	}
	return len(all), impossible, broken
}

// setPossible sets Possible of every hop that has no problems and whose releases have none.
func (r *Report) setPossible() {
	broken := map[string]bool{}
	for _, x := range r.Releases {
		broken[x.Name] = broken[x.Name] || len(x.Problems) > 0
	}
	for i := range r.Updates {
		u := &r.Updates[i]
		for j := range u.Hops {
			h := &u.Hops[j]
			h.Possible = len(h.Problems) == 0
			for _, version := range []string{h.From, h.To} {
				if broken[release.Name(version, release.Arch(u.Arch))] {
					h.Possible = false
				}
			}
		}
	}
}

// addRelease adds the result for a release. Results of the same release are merged.
func (r *Report) addRelease(x ReleaseReport) {
	i := slices.IndexFunc(r.Releases, func(o ReleaseReport) bool { return o.Name == x.Name && o.Digest == x.Digest })
	if i < 0 {
		r.Releases = append(r.Releases, x)
		return
	}
	r.Releases[i].Problems = addMissing(r.Releases[i].Problems, x.Problems)
}

func (r *Report) addProblem(p Problem) {
	if !slices.Contains(r.Problems, p) {
		r.Problems = append(r.Problems, p)
	}
}

func (r *Report) note(text string) {
	if !slices.Contains(r.Notes, text) {
		r.Notes = append(r.Notes, text)
	}
}
