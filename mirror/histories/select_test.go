package histories

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// selects sets what an image set selects, and writes its configuration.
func (e *engine) selects(s *step) error {
	set := s.word(0)
	sel := &selected{apps: map[int]appChoice{}}
	for _, word := range s.words[1:] {
		word, target, _ := strings.Cut(word, ">")
		kind, rest, _ := strings.Cut(word, ":")
		switch kind {
		case "zoo":
			mode, names, _ := strings.Cut(rest, ":")
			sel.catalog, sel.target = mode, catalogTarget(set, target)
			if names != "" {
				sel.packages = strings.Split(names, ",")
			}
		case "ocp":
			sel.releases = strings.Split(rest, ",")
		case "graph":
			sel.graph = true
		case "chart":
			n, _ := strconv.Atoi(rest)
			sel.charts = append(sel.charts, n)
		case "file":
			sel.files = append(sel.files, rest)
		default:
			name, one := strings.CutSuffix(word, "/amd64")
			name, pinned := strings.CutSuffix(name, "@")
			i, err := strconv.Atoi(strings.TrimPrefix(name, "app"))
			if err != nil {
				return fmt.Errorf("selecting %q: %w", word, err)
			}
			c := appChoice{one: one && i%2 == 1}
			if pinned {
				c.pin = e.model.apps[i][e.model.state.apps[i]]
			}
			if target != "" {
				c.target = target + strconv.Itoa(i)
			}
			sel.apps[i] = c
		}
	}
	e.selections[set] = sel
	return e.writeConfig(set)
}

// catalogTarget is the repository of an image set's catalog, since two may not have different catalogs under one name.
func catalogTarget(set, target string) string {
	switch {
	case target != "":
		return "zoo/index-" + set + "-" + target
	case set != "a":
		return "zoo/index-" + set
	}
	return ""
}

func (e *engine) writeConfig(set string) error {
	return e.write(set+".yaml", "kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\nmirror:\n"+e.stanza(e.selections[set]))
}

// stanza returns a selection as the text of a configuration.
func (e *engine) stanza(s *selected) string {
	var b strings.Builder
	add := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	if len(s.apps) > 0 {
		add("  additionalImages:")
	}
	for _, i := range slices.Sorted(maps.Keys(s.apps)) {
		c := s.apps[i]
		add("  - name: %s", appName(i, c))
		if c.target != "" {
			add("    targetRepo: %s", c.target)
		}
		if c.one {
			add("    platforms: [{os: linux, architecture: amd64}]")
		}
	}
	if s.catalog != "" {
		add("  operators:\n  - catalog: %s/zoo/index:%s", zooHost, zooTag)
		if s.target != "" {
			add("    targetCatalog: %s", s.target)
		}
		if s.catalog != "heads" {
			add("    full: true")
		}
		if s.catalog != "all" {
			add("    packages:")
			for _, name := range s.packages {
				add("    - name: %s", name)
			}
		}
	}
	if len(s.releases) > 0 {
		add("  platform:\n    channels:\n    - {name: stable-4.20, minVersion: %s, maxVersion: %s}", s.releases[0], s.releases[len(s.releases)-1])
		if s.graph {
			add("    graph: true\n    graphData: %s", e.graphData)
		}
	}
	if len(s.charts) > 0 {
		add("  helm:\n    local:")
		for _, n := range s.charts {
			add("    - path: %s", e.path(fmt.Sprintf("web-%d.0.0.tgz", n)))
		}
	}
	if len(s.files) > 0 {
		add("  files:")
		for _, name := range s.files {
			add("  - path: %s", e.path(name))
		}
	}
	return b.String()
}

func appName(i int, c appChoice) string {
	if c.pin != "" {
		return appHost + "/" + appPath(i) + "@" + c.pin.String()
	}
	return appHost + "/" + appPath(i) + ":v1"
}

// deleted returns the text of a configuration that selects something for deletion, and the selection without it. It is "" if
// the image set does not select that.
func deleted(s *selected, what string) (text string, rest *selected) {
	less := *s
	less.apps = maps.Clone(s.apps)
	if i, err := strconv.Atoi(strings.TrimPrefix(what, "app")); err == nil {
		c, ok := s.apps[i]
		delete(less.apps, i)
		if !ok || len(less.apps) == 0 { // a configuration needs something
			return "", nil
		}
		return "  additionalImages:\n  - name: " + appName(i, c) + "\n", &less
	}
	catalog := "  operators:\n  - catalog: " + zooHost + "/zoo/index:" + zooTag + "\n"
	switch what {
	case "catalog":
		if s.catalog != "" {
			less.catalog, less.packages, less.target = "", nil, ""
			return catalog, &less
		}
	case "otter", "heron":
		if slices.Contains(s.packages, what) && s.catalog != "all" {
			less.packages = slices.DeleteFunc(slices.Clone(s.packages), func(name string) bool { return name == what })
			if len(less.packages) == 0 {
				less.catalog, less.target = "", ""
			}
			return catalog + "    packages:\n    - name: " + what + "\n", &less
		}
	default:
		if slices.Contains(s.releases, what) && len(s.releases) > 1 {
			less.releases = slices.DeleteFunc(slices.Clone(s.releases), func(version string) bool { return version == what })
			return "  platform:\n    channels:\n    - {name: stable-4.20, minVersion: " + what + ", maxVersion: " + what + "}\n", &less
		}
	}
	return "", nil
}
