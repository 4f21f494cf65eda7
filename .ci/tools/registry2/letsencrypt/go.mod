module rsc.io/letsencrypt

go 1.26.0
