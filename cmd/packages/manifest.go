package main

import (
	"io"
	"text/template"
)

// An asset is an archive that a formula or a manifest names.
type asset struct {
	OS, Arch, URL, SHA256, Folder, Program string
}

// A manifestData is what the templates of the formula and the manifest read.
type manifestData struct {
	Homepage, Version, Number string
	Assets                    []asset
}

// OS returns the archives for an operating system that Homebrew runs on.
func (d manifestData) OS(name string) (some []asset) {
	for _, a := range d.Assets {
		if a.OS == name && (a.Arch == "amd64" || a.Arch == "arm64") {
			some = append(some, a)
		}
	}
	return some
}

// writeManifests writes the Homebrew formula and the krew manifest. sums has the SHA-256 of each platform's archive.
func (r *release) writeManifests(sums map[platform]string) error {
	d := manifestData{Homepage: homepage, Version: r.version, Number: r.number()}
	for _, p := range r.platforms {
		d.Assets = append(d.Assets, asset{
			OS: p.os, Arch: p.arch, URL: r.baseURL + "/" + r.archiveName(p), SHA256: sums[p], Folder: r.folder(p), Program: p.program("gantry"),
		})
	}
	all, err := template.ParseFS(own, "files/*.tmpl")
	if err != nil {
		return err
	}
	for from, to := range map[string]string{"formula.tmpl": "gantry.rb", "krew.tmpl": "gantry-krew.yaml"} {
		if _, err := r.create(to, func(w io.Writer) error { return all.ExecuteTemplate(w, from, d) }); err != nil {
			return err
		}
	}
	return nil
}
