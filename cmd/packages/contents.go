package main

import (
	"bytes"
	"debug/buildinfo"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// A file is one file of an archive or package.
type file struct {
	name string // with slashes
	mode fs.FileMode
	data []byte
}

// contents are the files that archives and packages have in common.
type contents struct {
	programs []file
	bills    []file // the bills of materials
	manuals  []file
	shells   []file // completions
	texts    []file // LICENSE, THIRD_PARTY_LICENSES and README.md
}

// all returns the files as they are in an archive.
func (c *contents) all() (all []file) {
	all = append(all, c.programs...)
	all = append(all, c.texts...)
	for _, group := range []struct {
		dir   string
		files []file
	}{{"completions", c.shells}, {"man", c.manuals}, {"sbom", c.bills}} {
		for _, f := range group.files {
			f.name = path.Join(group.dir, f.name)
			all = append(all, f)
		}
	}
	return all
}

// contents reads the files for one platform.
func (r *release) contents(p platform) (*contents, error) {
	c := &contents{}
	for _, name := range []string{"gantry", "gantry-helm"} {
		text, err := os.ReadFile(filepath.Join(r.programs, p.String(), p.program(name)))
		if err != nil {
			return nil, fmt.Errorf("reading a program: %w", err)
		}
		build, err := buildinfo.Read(bytes.NewReader(text))
		if err != nil {
			return nil, fmt.Errorf("reading how %s was built: %w", name, err)
		}
		if err := checkBuild(build, p); err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(r.programs, p.String(), p.program(name)), err)
		}
		bill, err := r.billOfMaterials(name, text, build)
		if err != nil {
			return nil, fmt.Errorf("writing the bill of materials of %s: %w", name, err)
		}
		c.programs = append(c.programs, file{p.program(name), 0o755, text})
		c.bills = append(c.bills, file{name + ".cdx.json", 0o644, bill})
		if err := os.WriteFile(filepath.Join(r.to, fmt.Sprintf("%s-%s-%s.cdx.json", name, r.version, p)), bill, 0o644); err != nil {
			return nil, err
		}
	}
	var err error
	if c.manuals, err = readFolder(r.manuals, ".1"); err != nil {
		return nil, fmt.Errorf("reading the manual pages: %w", err)
	}
	if c.shells, err = readFolder(r.shells, ""); err != nil {
		return nil, fmt.Errorf("reading the completions: %w", err)
	}
	c.texts, err = readFiles(r.source, "LICENSE", "README.md")
	c.texts = append(c.texts, file{licensesFile, 0o644, notices(r.license)})
	return c, err
}

// checkBuild returns an error if a program was not built for the platform, or not as releases are.
func checkBuild(build *buildinfo.BuildInfo, p platform) error {
	want := map[string]string{"GOOS": p.os, "GOARCH": p.arch, "CGO_ENABLED": "0", "-trimpath": "true"}
	for _, s := range build.Settings {
		if v, ok := want[s.Key]; ok && v == s.Value {
			delete(want, s.Key)
		}
	}
	for key, value := range want {
		return fmt.Errorf("it was not built with %s=%s", key, value)
	}
	return nil
}

// readFolder reads the files of a folder whose names have an end.
func readFolder(dir, suffix string) ([]file, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), suffix) {
			names = append(names, e.Name())
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s is empty", dir)
	}
	return readFiles(dir, names...)
}

// readFiles reads files of a folder.
func readFiles(dir string, names ...string) (all []file, err error) {
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		all = append(all, file{path.Base(name), 0o644, text})
	}
	return all, nil
}
