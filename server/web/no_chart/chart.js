// Stands for Chart.js where the build found none: the pages show tables only.
