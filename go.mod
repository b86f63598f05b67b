module github.com/rondo-db/rondo

go 1.26
