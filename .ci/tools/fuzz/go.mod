module github.com/gantry-mirror/gantry/tools/fuzz

go 1.26.6
