// Imports the framework in a new process, and prints the time in milliseconds.

const start = performance.now();
await import("../../../../mod.ts");
console.log(performance.now() - start);
