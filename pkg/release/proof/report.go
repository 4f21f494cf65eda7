package proof

import (
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/release"
)

// A Report is what was found of a mirror. Its JSON is that of gantry check --platform.
type Report struct {
	Version int    `json:"version"`
	Mirror  string `json:"mirror"`
	// GraphData is the image of graph data by digest; "" where there is none.
	GraphData string          `json:"graphData,omitempty"`
	Updates   []UpdateReport  `json:"updates"`
	Releases  []ReleaseReport `json:"releases"`
	// Problems are of no single release or hop.
	Problems []Problem `json:"problems,omitempty"`
	Notes    []string  `json:"notes,omitempty"`
}

// An UpdateReport is a path that clusters take. Plan is that which has it; "" where
// it was asked for without one.
type UpdateReport struct {
	Plan    string      `json:"plan,omitempty"`
	Channel string      `json:"channel"`
	Arch    string      `json:"arch"`
	From    string      `json:"from"`
	To      string      `json:"to"`
	Hops    []HopReport `json:"hops"`
}

// A HopReport is possible where it has no problem, and its releases have none. Risks
// are the names of those that clusters are told of.
type HopReport struct {
	From     string    `json:"from"`
	To       string    `json:"to"`
	Risks    []string  `json:"risks,omitempty"`
	Possible bool      `json:"possible"`
	Problems []Problem `json:"problems,omitempty"`
}

// A ReleaseReport is a release that is whole where it has no problem.
type ReleaseReport struct {
	Name     string        `json:"name"`
	Digest   digest.Digest `json:"digest"`
	Problems []Problem     `json:"problems,omitempty"`
}

// A Problem is a piece that is missing or wrong: what, where, and what to do. At is a
// reference or a file; "" where there is no one place.
type Problem struct {
	Problem string `json:"problem"`
	At      string `json:"at,omitempty"`
	Hint    string `json:"hint"`
}

// Count is how many hops there are and how many of these are not possible, and how
// many releases are not whole.
func (r *Report) Count() (hops, impossible, broken int) {
	for _, u := range r.Updates {
		for _, h := range u.Hops {
			if hops++; !h.Possible {
				impossible++
			}
		}
	}
	for _, x := range r.Releases {
		if len(x.Problems) > 0 {
			broken++
		}
	}
	return hops, impossible, broken
}

// judge says which hops are possible: those without problems of their own, between
// releases that have none.
func (r *Report) judge() {
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

// addRelease enters what was found of a release, once.
func (r *Report) addRelease(x ReleaseReport) {
	i := slices.IndexFunc(r.Releases, func(o ReleaseReport) bool { return o.Name == x.Name && o.Digest == x.Digest })
	if i < 0 {
		r.Releases = append(r.Releases, x)
		return
	}
	have := &r.Releases[i]
	for _, p := range x.Problems {
		if !slices.Contains(have.Problems, p) {
			have.Problems = append(have.Problems, p)
		}
	}
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
