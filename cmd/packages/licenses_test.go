package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestLicenses(t *testing.T) {
	t.Parallel()
	const (
		mit    = "Permission is hereby granted, free of charge, to any person"
		apache = "Apache License\n   Version 2.0, January 2004"
		bsd    = "Redistribution and use in source and binary\n * forms, with or without modification"
	)
	for text, want := range map[string]string{
		mit: "MIT", apache: "Apache-2.0", bsd: "BSD-2-Clause", bsd + "\n * Neither name of copyright holders": "BSD-3-Clause", mit + "\n" + apache: "Apache-2.0 AND MIT",
		"Mozilla Public License, version 2.0": "MPL-2.0", "GNU GENERAL PUBLIC LICENSE Version 2": "", "all rights reserved": "",
	} {
		fail.Diff(t, want, identify(text))
	}
	dir := t.TempDir()
	if _, err := readLicense(dir); err == nil || !strings.Contains(err.Error(), "has no license that a release may contain") {
		t.Errorf("without a license: %v", err)
	}
	for name, text := range map[string]string{"LICENSE": mit, "NOTICE.txt": "notice", "license.go": bsd, "README": apache} {
		fail.On(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	l, err := readLicense(dir)
	fail.On(t, err)
	fail.Diff(t, license{"MIT", []string{mit, "notice"}}, l, cmp.AllowUnexported(license{}))
	want := "Gantry contains these libraries. Their licenses follow.\n\na@v1: MIT\nb@v1: MIT\n\n" + strings.Repeat("=", 80) + "\na@v1\nb@v1\n\n" + mit +
		"\n\n" + strings.Repeat("=", 80) + "\nb@v1\n\nnotice\n"
	fail.Diff(t, want, string(notices(map[string]license{"b@v1": l, "a@v1": {"MIT", []string{mit + "\n"}}})))
}
