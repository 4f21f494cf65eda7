package faults

import (
	"strings"

	rt "github.com/gantry-mirror/gantry/pkg/registrytest"
)

// A target is the kind of request that a fault affects.
type target struct {
	mirror              bool // of the mirror, not the source
	method, path, query string
}

func (p target) rules(f fault, action rt.Action) (rules []rt.Rule) {
	rule := rt.Rule{Method: p.method, Path: p.path, Query: p.query, Action: action}
	for i := range f.times {
		rule.Nth = i + 1
		rules = append(rules, rule)
	}
	if f.times == 0 {
		rules = append(rules, rule)
	}
	return rules
}

// A workflow is a column of the matrix: commands one after another, as long as they succeed. In them, NAME is the cell's own
// name, and the other names in capitals are addresses of the site.
type workflow struct {
	name         string
	before       []string // run without a fault
	commands     []string
	reads        *target           // nil: it reads no registry
	writes       *target           // nil: it changes no registry
	readsDisk    bool              // the last command reads DISK-NAME
	writesDisk   bool              // the first command writes it
	changeless   bool              // it changes nothing
	rereads      bool              // it reads blobs again that others are compared with
	ends         map[string]ending // of faults that end otherwise than elsewhere
	inapplicable map[string]string // faults that can't happen, with the reason
}

// workflows are the columns of the matrix. The image large is in all of them.
func (s *site) workflows() []workflow {
	var (
		large   = &target{method: "GET", path: "/blobs/" + s.large.String()}
		changed = &target{method: "GET", path: "/blobs/" + s.changed.String()}
		put     = &target{mirror: true, method: "PUT", path: "/blobs/uploads/", query: strings.TrimPrefix(s.large.String(), "sha256:")}
		putNew  = &target{mirror: true, method: "PUT", path: "/blobs/uploads/", query: strings.TrimPrefix(s.changed.String(), "sha256:")}
	)
	return []workflow{
		{name: "registry", commands: []string{"mirror -c FIRST MIRROR/NAME --workspace WORK-NAME"}, reads: large, writes: put},
		{name: "to archive", commands: []string{"mirror -c FIRST file://DISK-NAME --workspace WORK-NAME"}, reads: large, writesDisk: true},
		{
			name: "from archive", before: []string{"mirror -c FIRST file://DISK-NAME --workspace WORK-NAME"},
			commands: []string{"mirror --from file://DISK-NAME MIRROR/NAME --workspace SITE-NAME"}, writes: put, readsDisk: true,
		},
		{
			name: "increment",
			before: []string{
				"mirror -c FIRST --name app file://DISK-NAME --workspace WORK-NAME", "mirror --from file://DISK-NAME MIRROR/NAME --workspace SITE-NAME",
			},
			commands: []string{ // whether there are deltas does not depend on the load of the machine
				"mirror -c SECOND --name app --delta-time 1h file://DISK-NAME --workspace WORK-NAME", "mirror --from file://DISK-NAME MIRROR/NAME --workspace SITE-NAME",
			},
			reads: changed, writes: putNew, readsDisk: true, writesDisk: true,
		},
		{
			name: "compact",
			commands: []string{
				"mirror -c BOTH --compact max file://DISK-NAME --workspace WORK-NAME", "mirror --from file://DISK-NAME MIRROR/NAME --workspace SITE-NAME",
			},
			reads: changed, writes: putNew, readsDisk: true, writesDisk: true, rereads: true,
		},
		{
			name: "prune",
			before: []string{
				"mirror -c BOTH --name app MIRROR/NAME --workspace WORK-NAME", "mirror -c FIRST --name app MIRROR/NAME --workspace WORK-NAME",
			},
			commands: []string{"prune --yes MIRROR/NAME --workspace WORK-NAME"},
			reads:    &target{mirror: true, method: "GET", path: "/NAME/.*/manifests/"},
			writes:   &target{mirror: true, method: "DELETE", path: "/NAME/.*/manifests/"},
			ends:     map[string]ending{"write: 201 and nothing stored once": either}, // who deletes believes the registry
			inapplicable: map[string]string{
				"write: cut once": "the request has no body", "write: stalls once": "the request has no body", "write: registry restarts once": "the request has no body",
				"read: redirected to storage": "it reads no blobs",
			},
		},
		{
			name: "verify", before: []string{"mirror -c FIRST MIRROR/NAME --workspace WORK-NAME"},
			commands: []string{"verify --blobs=read MIRROR/NAME --workspace WORK-NAME"},
			reads:    &target{mirror: true, method: "GET", path: "/NAME/.*/blobs/" + s.large.String()}, changeless: true,
			ends: map[string]ending{"read: wrong bytes once": fails}, // what it reads once is damage
		},
		{
			name: "serve", commands: []string{"mirror -c SERVED MIRROR/NAME --workspace WORK-NAME"}, reads: large, writes: put,
			inapplicable: map[string]string{
				"read: token expired once": "it needs no token", "read: redirected to storage": "it has no other storage", "read: registry restarts once": "it is no registry",
			},
		},
	}
}

// fits returns why a fault can't happen in a workflow, or "".
func (w workflow) fits(f fault) string {
	switch {
	case w.inapplicable[f.name] != "":
		return w.inapplicable[f.name]
	case f.aim == reads && w.reads == nil:
		return "it reads no registry"
	case f.aim == writes && w.writes == nil:
		return "it changes no registry"
	case f.aim == disks && !w.readsDisk:
		return "it reads no disk"
	case f.limit > 0 && !w.writesDisk:
		return "it writes no large file"
	}
	return ""
}

// target returns the requests that a fault affects, nil for none.
func (w workflow) target(f fault) *target {
	switch {
	case f.action == nil:
		return nil
	case f.aim == reads, w.writes == nil:
		return w.reads
	}
	return w.writes
}
