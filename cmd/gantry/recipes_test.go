package main

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// recipePages are the pages of docs/recipes.
const recipePages = "../../docs/recipes/*.md"

// TestRecipes follows the pages of docs/recipes as a reader does: it writes their files, and runs their commands in
// order, each side of an air gap in a folder of its own. What it runs is read from the pages. Commands of gantry have to
// succeed. Those for clusters and of other products are not run: what they read has to exist.
func TestRecipes(t *testing.T) {
	sources := newRecipeSources(t)
	pages, err := filepath.Glob(recipePages)
	fail.On(t, err)
	commands := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		fail.On(t, err)
		name := strings.TrimSuffix(filepath.Base(page), ".md")
		t.Run(name, func(t *testing.T) { // not in parallel: each has the working directory
			if name != "README" && (!strings.Contains(string(text), "ImageSetConfiguration") || !strings.Contains(string(text), "\nNext: ")) {
				t.Error("the page has no configuration, or does not say what comes next")
			}
			r := sources.begin(t)
			for _, s := range recipeSteps(t, string(text)) {
				if s.side != r.side {
					r.enter(s.side)
				}
				if s.file != "" {
					r.write(s.file, s.text)
					continue
				}
				if strings.HasPrefix(s.text, "gantry ") {
					commands++
				}
				if !r.run(s.text) {
					break
				}
			}
		})
	}
	if commands < 40 {
		t.Errorf("the pages have %d commands of gantry", commands)
	}
}

// A recipeStep is a file or a command of a page.
type recipeStep struct{ side, file, text string }

var (
	recipeSide = regexp.MustCompile(`^## (?:On|In) the ([^,]+)`)
	recipeFile = regexp.MustCompile("^`([^` ]+)`.*:$")
	recipeRun  = regexp.MustCompile(`(?m)^ *- run: (gantry .*)`)
)

// recipeSteps returns the files and commands of a page. A line before a block that is not of commands names the file. The
// runs of a workflow are commands, too.
func recipeSteps(t *testing.T, page string) (steps []recipeStep) {
	t.Helper()
	side := ""
	for i, part := range strings.Split(page, "```") {
		if i%2 == 0 {
			for line := range strings.Lines(part) {
				if m := recipeSide.FindStringSubmatch(line); m != nil {
					side = strings.TrimSpace(m[1])
				}
			}
			page = strings.TrimSpace(part)
			continue
		}
		language, text, _ := strings.Cut(part, "\n")
		if language == "sh" {
			for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
				if line = strings.TrimSpace(line); line != "" {
					steps = append(steps, recipeStep{side: side, text: line})
				}
			}
			continue
		}
		m := recipeFile.FindStringSubmatch(page[strings.LastIndexByte(page, '\n')+1:])
		if m == nil {
			t.Fatalf("the line before a block of %s does not name its file: %s", language, text)
		}
		steps = append(steps, recipeStep{side, m[1], text})
		for _, run := range recipeRun.FindAllStringSubmatch(text, -1) {
			steps = append(steps, recipeStep{side: side, text: run[1]})
		}
	}
	return steps
}

// A recipe is a page that is followed.
type recipe struct {
	t    *testing.T
	dir  string // has a folder for each side, and what is carried
	side string
	env  map[string]string
	// rename gives hosts and folders that do not exist others.
	rename *strings.Replacer
	// surroundings are the environment and the registries.conf of a side.
	surroundings func(side string) (env map[string]string, registriesConf string)
}

// enter continues on another side. Public keys get there apart from the disk.
func (r *recipe) enter(side string) {
	r.t.Helper()
	keys, err := filepath.Glob(filepath.Join(r.at(""), "*.pub"))
	fail.On(r.t, err)
	r.side = side
	var conf string
	if r.env, conf = r.surroundings(side); r.exists(".config") {
		return
	}
	r.write("/etc/containers/registries.conf", conf)
	for _, key := range keys {
		text, err := os.ReadFile(key)
		fail.On(r.t, err)
		r.write(filepath.Base(key), string(text))
	}
	fail.On(r.t, os.MkdirAll(r.at("/etc/containerd/"), 0o700))
}

// at returns where the test has a file of a side. The settings of the machine are the user's.
func (r *recipe) at(name string) string {
	if shared, ok := strings.CutPrefix(name, "/media/"); ok {
		return filepath.Join(r.dir, "media", shared)
	}
	name = strings.Replace(name, "/etc/containers/", ".config/containers/", 1)
	return filepath.Join(r.dir, "side "+r.side, name)
}

func (r *recipe) exists(name string) bool {
	_, err := os.Stat(r.at(name))
	return err == nil
}

func (r *recipe) write(name, text string) {
	r.t.Helper()
	if filepath.Ext(name) == ".conf" && !strings.Contains(text, "insecure") { // registries of the test speak plain HTTP
		text = strings.ReplaceAll(text, "location =", "insecure = true\nlocation =")
	}
	fail.On(r.t, os.MkdirAll(filepath.Dir(r.at(name)), 0o700))
	fail.On(r.t, os.WriteFile(r.at(name), []byte(r.rename.Replace(text)), 0o600))
}

// otherProducts are programs whose commands are not run.
var otherProducts = strings.Fields("argocd crictl flux git kubectl kustomize oc systemctl")

// run runs a command, and reports whether it succeeded.
func (r *recipe) run(line string) bool {
	r.t.Helper()
	args, program := documentedArguments(line), strings.Fields(line)[0]
	for i, arg := range args {
		args[i] = recipePath.ReplaceAllStringFunc(r.rename.Replace(arg), func(path string) string { return r.at(path) })
	}
	var out, errs bytes.Buffer
	switch {
	case program == "gantry":
		r.t.Chdir(r.at(""))
		if code := (&app{stdout: &out, stderr: &errs, env: r.env}).run(args); code != exitOK {
			r.t.Errorf("%s\nended with %d:\n%s%s", line, code, out.String(), errs.String())
			return false
		}
		if _, file, ok := strings.Cut(line, " > "); ok {
			r.write(file, out.String())
		}
	case program == "cp" || program == "ssh-keygen":
		cmd := exec.CommandContext(r.t.Context(), program, args...)
		cmd.Dir, cmd.Stderr = r.at(""), &errs
		if err := cmd.Run(); errors.Is(err, exec.ErrNotFound) {
			r.t.Skipf("%s is not installed", program)
		} else if err != nil {
			r.t.Fatalf("%s: %v\n%s", line, err, errs.String())
		}
	case program == "export": // of a proxy; the test has its own
	case !slices.Contains(otherProducts, program):
		r.t.Errorf("%s: the test does not know this command", line)
	default:
		r.checkInputs(line, args)
	}
	return true
}

// recipePath is a folder or file that readers have outside of the working directory.
var recipePath = regexp.MustCompile(`/(media|etc|srv)/.*`)

// checkInputs checks that the files and folders exist that a command for a cluster reads, and the objects that it lists.
func (r *recipe) checkInputs(line string, args []string) {
	r.t.Helper()
	if args[0] == "get" && slices.Contains([]string{"oc", "kubectl"}, strings.Fields(line)[0]) {
		r.checkObjects(line, strings.Split(args[1], ","))
	}
	for i, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		if slices.Contains([]string{"-f", "-k", "--patch-file", "build", "add"}, arg) && i+1 < len(args) {
			value = args[len(args)-1]
		} else if name != "--path" && name != "--source" && name != "--from-file" {
			continue
		}
		if value != "-" && !r.exists(value) {
			r.t.Errorf("%s: %s does not exist", line, value)
		}
		if arg == "-k" && !r.exists(filepath.Join(value, "Kustomization")) {
			r.t.Errorf("%s: %s has no Kustomization", line, value)
		}
	}
}

// others are kinds of objects that Gantry does not write.
var others = []string{"machineconfigpools", "policies"}

// checkObjects checks that a side has files with objects of these kinds, which clusters have after the recipe.
func (r *recipe) checkObjects(line string, kinds []string) {
	r.t.Helper()
	have := map[string]bool{}
	fail.On(r.t, filepath.WalkDir(r.at(""), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(name) != ".yaml" {
			return err
		}
		text, err := os.ReadFile(name)
		for _, m := range objectKind.FindAllStringSubmatch(string(text), -1) {
			kind := strings.ToLower(m[1])
			if stem, ok := strings.CutSuffix(kind, "y"); ok {
				kind = stem + "ie"
			}
			have[kind+"s"] = true
		}
		return err
	}))
	for _, kind := range kinds {
		if !have[kind] && !slices.Contains(others, kind) {
			r.t.Errorf("%s: no file has one of the %s; there are %v", line, kind, slices.Sorted(maps.Keys(have)))
		}
	}
}

var objectKind = regexp.MustCompile(`(?m)^kind: (\w+)$`)
