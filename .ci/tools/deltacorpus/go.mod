module github.com/gantry-mirror/gantry/tools/deltacorpus

go 1.26.0

replace github.com/gantry-mirror/gantry => ../../..

require (
	github.com/gantry-mirror/gantry v0.0.0-00010101000000-000000000000
	github.com/klauspost/compress v1.20.2
	github.com/klauspost/pgzip v1.2.6
	github.com/opencontainers/go-digest v1.0.0
)

require (
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
)
