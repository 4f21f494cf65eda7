package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/module"
)

// licensesFile is the name of the file with the licenses of what the programs contain.
const licensesFile = "THIRD_PARTY_LICENSES"

// A license is the license of a module as an SPDX expression (MIT AND Apache-2.0), with all texts that have to accompany it.
type license struct {
	id    string
	texts []string
}

// knownLicenses are the licenses that a program of a release may contain, with a phrase of each, in lower case.
var knownLicenses = []struct {
	id     string
	phrase *regexp.Regexp
}{
	{"Apache-2.0", regexp.MustCompile("apache license,? version 2.0")},
	{"BSD-2-Clause", regexp.MustCompile("redistribution and use in source and binary forms")},
	{"BSD-3-Clause", regexp.MustCompile("redistribution and use in source and binary forms.* neither (the )?name")},
	{"ISC", regexp.MustCompile("permission to use, copy, modify, and")},
	{"MIT", regexp.MustCompile("permission is hereby granted, free of charge")},
	{"MPL-2.0", regexp.MustCompile("mozilla public license,? version 2.0")},
}

var (
	licenseName = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|copyright|patents)`)
	space       = regexp.MustCompile(`[\s*"]+`)
)

// goEnvironment returns what go env prints for a variable.
func goEnvironment(ctx context.Context, name string) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", name).Output()
	return strings.TrimSpace(string(out)), err
}

// licenses returns the licenses of Go's standard library ("std") and of all modules that the programs of all platforms were
// built with, by PATH@VERSION. They are in the module cache, where the build read the modules.
func (r *release) licenses(ctx context.Context) (map[string]license, error) {
	root, err := goEnvironment(ctx, "GOROOT")
	cache, cacheErr := goEnvironment(ctx, "GOMODCACHE")
	if err := errors.Join(err, cacheErr); err != nil {
		return nil, err
	}
	std, err := readLicense(root)
	if err != nil {
		return nil, fmt.Errorf("the standard library: %w", err)
	}
	all := map[string]license{"std": std}
	for _, p := range r.platforms {
		for _, name := range []string{"gantry", "gantry-helm"} {
			build, err := buildinfo.ReadFile(filepath.Join(r.programs, p.String(), p.program(name)))
			if err != nil {
				return nil, fmt.Errorf("reading a program: %w", err)
			}
			for _, m := range libraries(build) {
				at := m.Path + "@" + m.Version
				if _, known := all[at]; known {
					continue
				}
				path, err := module.EscapePath(m.Path)
				version, versionErr := module.EscapeVersion(m.Version)
				if err := errors.Join(err, versionErr); err != nil {
					return nil, err
				}
				if all[at], err = readLicense(filepath.Join(cache, path+"@"+version)); err != nil {
					return nil, fmt.Errorf("%s of %s: %w", at, name, err)
				}
			}
		}
	}
	return all, nil
}

// libraries returns the modules of others that a program was built with.
func libraries(build *buildinfo.BuildInfo) (all []module.Version) {
	for _, m := range build.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		if m.Sum != "" { // not the module of the repository
			all = append(all, module.Version{Path: m.Path, Version: m.Version})
		}
	}
	return all
}

// readLicense reads the license of the module in a folder.
func readLicense(dir string) (l license, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return l, fmt.Errorf("reading its license: %w; run go mod download", err)
	}
	for _, e := range entries {
		if e.IsDir() || !licenseName.MatchString(e.Name()) || strings.HasSuffix(e.Name(), ".go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return l, err
		}
		l.texts = append(l.texts, string(text))
	}
	if l.id = identify(strings.Join(l.texts, "\n")); l.id == "" {
		return l, fmt.Errorf("%s has no license that a release may contain", dir)
	}
	return l, nil
}

// identify returns the SPDX expression of all known licenses in a text, "" if there is none.
func identify(text string) string {
	words := space.ReplaceAllString(strings.ToLower(text), " ")
	var found []string
	for _, l := range knownLicenses {
		if l.phrase.MatchString(words) {
			found = append(found, l.id)
		}
	}
	if i := slices.Index(found, "BSD-3-Clause"); i > 0 && found[i-1] == "BSD-2-Clause" {
		found = slices.Delete(found, i-1, i) // the phrase is in both
	}
	return strings.Join(found, " AND ")
}

// notices writes the licenses as one file, each text once.
func notices(all map[string]license) []byte {
	var b bytes.Buffer
	b.WriteString("Gantry contains these libraries. Their licenses follow.\n\n")
	names := slices.Sorted(maps.Keys(all))
	users := map[string][]string{}
	var texts []string
	for _, name := range names {
		fmt.Fprintf(&b, "%s: %s\n", name, all[name].id)
		for _, text := range all[name].texts {
			text = strings.TrimSpace(text)
			if users[text] == nil {
				texts = append(texts, text)
			}
			users[text] = append(users[text], name)
		}
	}
	for _, text := range texts {
		fmt.Fprintf(&b, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(users[text], "\n"), text)
	}
	return b.Bytes()
}
