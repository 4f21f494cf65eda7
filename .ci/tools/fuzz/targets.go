package main

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// A target is a fuzz target.
type target struct {
	dir  string // of its package
	name string
	slow string // why it takes few inputs per second, from its comment: "Slow: REASON."
}

func (t target) String() string { return t.dir + "." + t.name }

var declaration = regexp.MustCompile(`(?m)(?:^// Slow: (.+)\.\n)?^func (Fuzz\w+)\(\w+ \*testing\.F\) \{`)

// find returns the targets of a module, sorted. Modules in its folders are not part of it.
func find(module fs.FS) (all []target, err error) {
	err = fs.WalkDir(module, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			_, other := fs.Stat(module, path.Join(name, "go.mod"))
			if base := d.Name(); name != "." && (base[0] == '.' || base == "testdata" || base == "bin" || other == nil) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := fs.ReadFile(module, name)
		if err != nil {
			return err
		}
		for _, m := range declaration.FindAllSubmatch(text, -1) {
			all = append(all, target{path.Dir(name), string(m[2]), string(m[1])})
		}
		return nil
	})
	slices.SortFunc(all, func(a, b target) int { return strings.Compare(a.String(), b.String()) })
	return all, err
}

// choose returns the targets that the options name. A package is in one part, so that it is built once.
func choose(all []target, o *options) (chosen []target) {
	sizes, parts := make([]int, o.parts), map[string]int{}
	for _, t := range all {
		part, known := parts[t.dir]
		if !known { // the smallest part so far
			part = slices.Index(sizes, slices.Min(sizes))
			parts[t.dir] = part
		}
		sizes[part]++
		if part == o.part%o.parts && o.only.MatchString(t.String()) {
			chosen = append(chosen, t)
		}
	}
	first := int(o.begin * float64(len(chosen)))
	for first > 0 && chosen[first].dir == chosen[first-1].dir {
		first--
	}
	return slices.Concat(chosen[first:], chosen[:first])
}
