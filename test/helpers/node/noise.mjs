// Prints while the modules of a worker are loaded, before it calls work().

if (process.argv[2] === "work") console.log("noise of a start");
