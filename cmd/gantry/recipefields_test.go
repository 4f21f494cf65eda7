package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"go.yaml.in/yaml/v3"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestRecipeFields compares the files of docs/recipes that gantry does not read with testdata/recipefields.txt.
func TestRecipeFields(t *testing.T) {
	t.Parallel()
	known := readRecipeFields(t)
	pages, err := filepath.Glob(recipePages)
	fail.On(t, err)
	checked := map[string]bool{}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		fail.On(t, err)
		for _, s := range recipeSteps(t, string(text)) {
			if s.file == "" || filepath.Ext(s.file) == ".conf" || filepath.Base(s.file) == "policy.json" { // gantry reads them
				continue
			}
			for _, o := range recipeObjects(t, s.file, s.text) {
				if o["kind"] == "ImageSetConfiguration" {
					continue
				}
				name := recipeDefinition(s.file, o)
				checked[name] = true
				for _, problem := range fieldProblems(known[name], o) {
					t.Errorf("%s: %s (%s): %s", filepath.Base(page), s.file, name, problem)
				}
			}
		}
	}
	for name := range known {
		if !checked[name] {
			t.Errorf("no recipe has a file of %s: remove it from the list", name)
		}
	}
}

func TestFieldProblems(t *testing.T) {
	t.Parallel()
	known := map[string]recipeField{"a": {required: true}, "b[].c": {values: []string{"x", "true"}}, "b[].e": {required: true}, "d": {open: true}}
	for text, want := range map[string]string{
		"a: 1\nb: [{c: x, e: 1}, {c: true, e: 2}]\nd: {any: {thing: 1}}\n": "",
		"b: [{c: z, e: 1}]\n":  "a is missing|b[].c cannot be z",
		"a: 1\nb: [{c: x}]\n":  "b[].e is missing",
		"a: 1\nf: {g: [1]}\n":  "f.g[] is not a field",
		"a: 1\nd: 1\nae: {}\n": "ae is not a field",
	} {
		got := strings.Join(fieldProblems(known, recipeObjects(t, "x.yaml", text)[0]), "|")
		fail.Diff(t, want, got)
	}
}

// recipeDefinition is the name of what defines the fields of an object: its version and kind, or the place of a file.
func recipeDefinition(file string, o map[string]any) string {
	if kind, ok := o["kind"]; ok {
		return fmt.Sprint(o["apiVersion"], " ", kind)
	}
	if filepath.Ext(file) == ".toml" {
		return file
	}
	return filepath.ToSlash(filepath.Dir(file))
}

// recipeObjects decodes the objects of a file.
func recipeObjects(t *testing.T, file, text string) (all []map[string]any) {
	t.Helper()
	if filepath.Ext(file) == ".toml" {
		all = append(all, nil)
		fail.On(t, toml.Unmarshal([]byte(text), &all[0]))
		return all
	}
	d := yaml.NewDecoder(bytes.NewReader([]byte(text)))
	for {
		var o map[string]any
		if err := d.Decode(&o); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all = append(all, o)
	}
}

// A recipeField is what a definition says of a field.
type recipeField struct {
	required, open bool
	values         []string
}

// readRecipeFields reads testdata/recipefields.txt: fields by path, by definition.
func readRecipeFields(t *testing.T) map[string]map[string]recipeField {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "recipefields.txt"))
	fail.On(t, err)
	all := map[string]map[string]recipeField{}
	var fields map[string]recipeField
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if name, _, ok := strings.Cut(line, " https://"); ok {
			fields = map[string]recipeField{}
			all[name] = fields
			continue
		}
		path, values, _ := strings.Cut(line, " = ")
		var f recipeField
		path, f.required = strings.CutSuffix(path, "*")
		path, f.open = strings.CutSuffix(path, "{}")
		f.values = strings.Fields(values)
		fields[path] = f
	}
	return all
}

// fieldProblems returns what an object has in another way than its definition.
func fieldProblems(known map[string]recipeField, o map[string]any) (problems []string) {
	o = maps.Clone(o)
	for _, name := range []string{"apiVersion", "kind", "metadata"} {
		delete(o, name)
	}
	parents := map[string]int{"": 1} // how often there is a field that has others
	have := map[string]int{}
	var walk func(path string, value any)
	walk = func(path string, value any) {
		f, ok := known[path]
		switch v := value.(type) {
		case map[string]any:
			if ok && f.open {
				have[path]++
				return
			}
			if path != "" && len(v) > 0 {
				parents[path]++
			}
			for _, name := range slices.Sorted(maps.Keys(v)) {
				walk(strings.TrimPrefix(path+"."+name, "."), v[name])
			}
			if len(v) > 0 {
				return
			}
		case []any:
			have[path+"[]"] += min(1, len(v)) - len(v) // a list counts once
			for _, element := range v {
				walk(path+"[]", element)
			}
			return
		}
		have[path]++
		if !ok {
			problems = append(problems, path+" is not a field")
		} else if s := fmt.Sprint(value); len(f.values) > 0 && !slices.Contains(f.values, s) {
			problems = append(problems, path+" cannot be "+s)
		}
	}
	walk("", o)
	for _, path := range slices.Sorted(maps.Keys(known)) {
		parent := path[:max(0, strings.LastIndexByte(path, '.'))]
		want := parents[parent]
		if !strings.Contains(parent, "[]") { // an element may be absent
			want = 1
		}
		if known[path].required && have[path] < want {
			problems = slices.Insert(problems, 0, path+" is missing")
		}
	}
	return problems
}
