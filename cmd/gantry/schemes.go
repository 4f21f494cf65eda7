package main

import "github.com/gantry-mirror/gantry"

// The schemes of destinations.
const (
	dockerScheme = gantry.RegistryScheme
	fileScheme   = gantry.ArchiveScheme
	ociScheme    = gantry.LayoutScheme
)
